"""Figures as PNG: a few sheets of small plots, a line for each engine."""

# pyright: reportMissingImports=false

import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Page
from PIL import Image

from benchmarks.papers.figures import Figure
from benchmarks.papers.results import Results

_ACROSS = 3
_WIDTH, _HEIGHT = 2.6, 2.1  # inches of a plot
_DPI, _COLOURS = 90, 64  # a sheet has less than 60 KB
_MARKERS = "osv^D*PX"
_WIDE = 10  # from this ratio on an axis is logarithmic


def draw(stem: Path, sheets: Mapping[str, Sequence[Figure]], results: Results, engines: Sequence[str]) -> None:
    """Draw each sheet into <stem>-<sheet>.png; one without figures is left as it is."""
    mpl.use("agg")
    plt.rcParams.update({"font.size": 7, "axes.titlesize": 7, "lines.linewidth": 1, "lines.markersize": 3})
    for sheet, figures in sheets.items():
        if not figures:
            continue
        rows = -(-len(figures) // _ACROSS)
        page, grid = plt.subplots(rows, _ACROSS, figsize=(_ACROSS * _WIDTH, rows * _HEIGHT), squeeze=False)
        for axes, figure in zip(grid.flat, figures, strict=False):
            _plot(axes, figure, results, engines)
        for axes in grid.flat[len(figures) :]:
            axes.set_axis_off()
        lines, labels = grid.flat[0].get_legend_handles_labels()
        page.legend(lines, labels, loc="lower center", ncols=len(engines), frameon=False)
        page.tight_layout(rect=(0, 0.12 / rows, 1, 1))
        _save(page, stem.with_name(f"{stem.name}-{sheet}.png"))
        plt.close(page)


def _plot(axes: Axes, figure: Figure, results: Results, engines: Sequence[str]) -> None:
    found = {place: results.of(point) for place, point in figure.points.items()}
    for marker, engine in zip(_MARKERS, engines, strict=False):
        heights = [figures[engine][figure.measure.name] for figures in found.values()]
        if any(heights):  # what has nothing to show has no line on a logarithmic axis
            axes.plot(list(found), heights, marker=marker, label=engine)
    axes.set_title(f"{figure.name}: {figure.title}")
    axes.set_xlabel(figure.axis)
    axes.set_ylabel(figure.measure.label)
    axes.set_yscale("log")
    places = [place for place in found if place > 0]
    if len(places) == len(found) and max(places, default=1) >= _WIDE * min(places, default=1):
        axes.set_xscale("log")
    axes.grid(visible=True, linewidth=0.5, color="0.85")


def _save(page: Page, path: Path) -> None:
    picture = io.BytesIO()
    page.savefig(picture, dpi=_DPI, format="png")
    Image.open(picture).convert("P", palette=Image.Palette.ADAPTIVE, colors=_COLOURS).save(path, optimize=True)
    print(f"{path.name}: {path.stat().st_size / 1e3:.0f} KB")

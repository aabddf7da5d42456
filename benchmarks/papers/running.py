"""The command line of a paper's experiments: measures what is missing, then shows all that was asked for."""

import argparse
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.papers.figures import Figure, Table
from benchmarks.papers.points import Point, measured
from benchmarks.papers.results import Results
from benchmarks.papers.tables import figure_rows, table_rows
from benchmarks.report import Report
from tamis.indexes import ENGINES

_DOCUMENTATION = Path(__file__).parents[2] / "docs" / "benchmarks"


@dataclass(frozen=True)
class Paper:
    """What a paper shows."""

    name: str
    title: str
    about: str
    """What its tables show, for who reads them"""
    figures: Callable[[float, int], list[Figure]]
    """By the scale of its numbers of subscriptions, and the most that are measured"""
    table: Callable[[int], Table]
    """By the most that are measured"""
    sheets: Mapping[str, tuple[str, ...]]
    """The names of the figures that are drawn on one page."""


def run(paper: Paper) -> None:
    """Take options from the command line, measure, print tables and keep them."""
    known = [paper.table(1).name, *(figure.name for figure in paper.figures(1, 0))]
    parser = argparse.ArgumentParser(description=f"Run the experiments of {paper.name}; what was measured is kept.")
    parser.add_argument("--figure", action="append", choices=known, help="default: all")
    parser.add_argument("--scale", type=float, default=0.1, help="of the paper's numbers of subscriptions")
    parser.add_argument("--largest", type=int, default=3_000_000, help="leave out what has more subscriptions")
    parser.add_argument("--engine", action="append", metavar="NAME[:OPTION=N]", help="default: all, without options")
    parser.add_argument("--fresh", action="store_true", help="forget what was measured before")
    parser.add_argument("--publish", action="store_true", help="write docs/benchmarks/*; takes the group `plots`")
    options = parser.parse_args()
    engines, asked = options.engine or list(ENGINES), options.figure or known
    results = Results(paper.name)
    if options.fresh:
        results.forget()
    all_figures, table = paper.figures(options.scale, options.largest), paper.table(options.largest)
    figures = [figure for figure in all_figures if figure.name in asked]
    tables = [table] if table.name in asked else []
    _measure([table.point for table in tables] + _points(figures), engines, results)
    report = _report(paper, tables, figures, engines, results)
    report.show()
    print(f"\nKept in {report.keep()}; each point in {results.path}")
    if options.publish:
        from benchmarks.papers.plots import draw

        figures = [part for figure in all_figures if (part := _known(figure, engines, results)).points]
        tables = [table] if results.has(table.point, engines) else []
        report = _report(paper, tables, figures, engines, results)
        text = "\n\n".join(f"## {title}\n\n{lines}" for title, lines in report.markdown())
        page = _DOCUMENTATION / f"{paper.name}-tables.md"
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(f"# {paper.title}: the tables\n\n{paper.about}\n\n{text}\n", encoding="utf-8")
        drawn = {sheet: [figure for figure in figures if figure.name in names] for sheet, names in paper.sheets.items()}
        draw(page.with_name(paper.name), drawn, results, engines)


def _report(
    paper: Paper, tables: Sequence[Table], figures: Sequence[Figure], engines: Sequence[str], results: Results
) -> Report:
    report = Report(paper.name)
    for table in tables:
        table_rows(report, table, results, engines)
    for figure in figures:
        figure_rows(report, figure, results, engines)
    return report


def _points(figures: Sequence[Figure]) -> list[Point]:
    return [point for figure in figures for point in figure.points.values()]


def _known(figure: Figure, engines: Sequence[str], results: Results) -> Figure:
    """What was measured of it."""
    points = {place: point for place, point in figure.points.items() if results.has(point, engines)}
    return replace(figure, points=points)


def _measure(points: Sequence[Point], engines: Sequence[str], results: Results) -> None:
    missing = [point for point in dict.fromkeys(points) if not results.has(point, engines)]
    for done, point in enumerate(missing, start=1):
        began = time.perf_counter()
        results.keep(point, measured(point, engines))
        print(f"{done} of {len(missing)}, {time.perf_counter() - began:.0f} s: {point.key}", flush=True)

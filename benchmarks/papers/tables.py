"""Figures and tables of a paper as rows, with the work that explains them."""

from collections.abc import Sequence

from benchmarks.papers.figures import MATCHING, Figure, Table
from benchmarks.papers.results import Results
from benchmarks.report import Report


def figure_rows(report: Report, figure: Figure, results: Results, engines: Sequence[str]) -> None:
    """A row for each place on the axis; matching times come with the ids found and expressions looked at."""
    title = f"Figure {figure.name}: {figure.title}; {figure.measure.label}"
    for place, point in figure.points.items():
        found = results.of(point)
        cells: dict[str, str | float] = {figure.axis: place}
        cells |= {engine: found[engine][figure.measure.name] for engine in engines}
        if figure.measure is MATCHING:
            cells |= {f"{engine}, learned": found[engine]["learned_ms"] for engine in engines if engine != "scan"}
            cells["ids an event"] = max(found.values(), key=lambda figures: figures["events"])["ids_an_event"]
            cells |= {f"{engine} looks at": found[engine]["expressions_an_event"] for engine in engines}
        report.row(title, **cells)


def table_rows(report: Report, table: Table, results: Results, engines: Sequence[str]) -> None:
    """Ours, then the paper's; both beside their own scan, where there is one."""
    found = results.of(table.point)
    ours = {engine: tuple(found[engine][measure.name] for measure in table.measures) for engine in engines}
    for whose, rows in (("ours", ours), ("the paper's", table.published)):
        scanned = next((row[0] for name, row in rows.items() if name.casefold() == "scan"), None)
        for name, row in rows.items():
            cells: dict[str, str | float] = {"": f"{name}, {whose}"}
            for measure, value in zip(table.measures, row, strict=True):
                cells[measure.label] = "" if value is None else value
            if scanned is not None and row[0] is not None:
                cells["scan takes"] = f"{scanned / row[0]:,.0f} times"
            report.row(f"{table.name}: {table.title}", **cells)

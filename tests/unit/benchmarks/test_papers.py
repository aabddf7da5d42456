from pathlib import Path

import pytest
from benchmarks.papers import points, results
from benchmarks.papers.points import Point, measured
from benchmarks.papers.ps_tree_2018 import PAPER
from benchmarks.papers.results import Results
from benchmarks.workloads.be_gen import BEGen

from tamis.indexes import ENGINES

_POINT = Point(BEGen(), 50)


def test_every_engine_is_measured_on_a_point(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(points, "_EVENTS", 8)
    monkeypatch.setattr(points, "_LEARNED", 8)
    found = measured(_POINT, list(ENGINES))
    assert found.keys() == ENGINES.keys()
    assert len({figures["ids_an_event"] for figures in found.values()}) == 1
    assert all(figures["matching_ms"] > 0 for figures in found.values())


def test_a_run_goes_on_where_it_was_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "_FOLDER", tmp_path)
    Results("test").keep(_POINT, {"scan": {"matching_ms": 1.0}})
    again = Results("test")
    assert again.has(_POINT, ["scan"])
    assert again.of(_POINT) == {"scan": {"matching_ms": 1.0}}


def test_a_new_engine_has_a_point_measured_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines are compared within one run only."""
    monkeypatch.setattr(results, "_FOLDER", tmp_path)
    kept = Results("test")
    kept.keep(_POINT, {"scan": {"matching_ms": 1.0}})
    assert not kept.has(_POINT, ["scan", "another"])


def test_the_largest_number_bounds_every_point() -> None:
    figures = PAPER.figures(0.3, 100_000)
    sizes = [figure for figure in figures if figure.axis == "subscriptions"]
    assert all(point.subscriptions <= 100_000 for figure in sizes for point in figure.points.values())


def test_each_figure_is_drawn_once() -> None:
    drawn = [name for names in PAPER.sheets.values() for name in names]
    assert sorted(drawn) == sorted(figure.name for figure in PAPER.figures(1, 0))

"""Figures of a paper: what is varied, and what is shown of it."""

from dataclasses import dataclass
from typing import NamedTuple

from benchmarks.papers.points import Point


class Measure(NamedTuple):
    """What is shown: a name of `points.Figures`, and how it is spelled."""

    name: str
    label: str


CONSTRUCTION = Measure("construction_s", "construction, s")
MATCHING = Measure("matching_ms", "matching, ms an event")
LEARNED = Measure("learned_ms", "ms an event, after `learn`")
BATCHED = Measure("batched_ms", "ms an event, 64 at once")
STRUCTURE = Measure("structure_mb", "structure, MB")


@dataclass(frozen=True)
class Figure:
    """One plot: a measure of every engine along an axis."""

    name: str
    """As the paper numbers it: 6a."""
    title: str
    axis: str
    measure: Measure
    points: dict[float, Point]
    """By their place on the axis."""


@dataclass(frozen=True)
class Table:
    """Several measures of one point, and the paper's numbers by algorithm, in the order of the measures."""

    name: str
    title: str
    point: Point
    measures: tuple[Measure, ...]
    published: dict[str, tuple[float | None, ...]]

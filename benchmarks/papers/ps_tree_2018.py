"""The evaluation of PS-Tree (ps-tree-2018, section 7): Figures 5 to 15 and Table 2.

    python -m benchmarks.papers.ps_tree_2018 [--figure 6a ...] [--scale 0.1] [--engine NAME ...] [--fresh] [--publish]

Parameters are Table 1's; only its numbers of subscriptions are scaled, those of the advertisements and query logs are
not. `docs/benchmarks/ps-tree-2018.md` tells what came out.
"""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from benchmarks.papers.figures import BATCHED, CONSTRUCTION, LEARNED, MATCHING, STRUCTURE, Figure, Table
from benchmarks.papers.points import Point
from benchmarks.papers.running import Paper, run
from benchmarks.workloads.ads import AdsLike
from benchmarks.workloads.be_gen import BEGen
from benchmarks.workloads.query_logs import QueryLogs


class Sweep(NamedTuple):
    """A parameter of BEGen that a figure varies."""

    parameter: str
    axis: str
    values: tuple[float, ...]


# Table 1; defaults are those of BEGen.
_SUBSCRIPTIONS = (300_000, 1_000_000, 3_000_000, 10_000_000, 30_000_000, 100_000_000)
_SUBSCRIPTIONS_DEFAULT = 1_000_000
_DIMENSIONS = (100, 300, 1_000, 3_000, 10_000, 30_000)
_SWEEPS: dict[str, Sweep] = {
    "7": Sweep("alpha", "Zipf's alpha", (0.0, 1.0, 2.0, 3.0, 4.0, 5.0)),
    "9": Sweep("dimension_cardinality", "cardinality", (3, 10, 30, 100, 300, 1_000)),
    "10": Sweep("subscription_size", "predicates a subscription", (5, 10, 15, 20, 25, 30)),
    "11": Sweep("event_size", "pairs an event", (30, 42, 54, 66, 78, 90)),
    "12": Sweep("matching_probability", "matching probability", (0.001, 0.005, 0.01, 0.05, 0.1, 0.5)),
    "13": Sweep("equality_ratio", "share of equality", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0)),
}
_LOW, _HIGH = BEGen(dimension_number=100), BEGen(dimension_number=30_000)
_A_DIMENSION = 100  # subscriptions in 8b, which the paper does not tell
_QUERIES = (300_000, 1_000_000, 2_100_000)
_ADS = 3_000_000

_SHEETS = {
    "construction": ("5a", "5b", "5c", "5d", "15b"),
    "matching-dense": ("6a", "7a", "8a", "8b", "9a", "10a", "11a", "12a", "13a"),
    "matching-sparse": ("6b", "7b", "9b", "10b", "11b", "12b", "13b", "15a"),
    "memory": ("14a", "14b"),
}


def figures(scale: float, largest: int) -> list[Figure]:
    """At this scale of Table 1's numbers of subscriptions, without points that have more than `largest`."""
    base = int(_SUBSCRIPTIONS_DEFAULT * scale)
    scaled = [int(number * scale) for number in _SUBSCRIPTIONS]

    def sizes(workload: BEGen | QueryLogs, numbers: Iterable[int]) -> dict[float, Point]:
        return {number: Point(workload, number) for number in numbers if number <= largest}

    def swept(workload: BEGen, number: str) -> dict[float, Point]:
        sweep = _SWEEPS[number]
        changed = {value: replace(workload, **{sweep.parameter: value}) for value in sweep.values}  # type: ignore[arg-type]
        return {value: Point(workload, base) for value, workload in changed.items()}

    by_dimensions: dict[float, Point] = {d: Point(replace(_LOW, dimension_number=d), base) for d in _DIMENSIONS}
    a_dimension: dict[float, Point] = {
        d: Point(replace(_LOW, dimension_number=d), int(d * _A_DIMENSION * scale))
        for d in _DIMENSIONS
        if d * _A_DIMENSION * scale <= largest
    }
    low, high, queries = "100 dimensions", "30,000 dimensions", "query logs"
    here, there = f"{base:,} on {low}", f"{base:,} on {high}"
    found = [
        Figure("5a", low, "subscriptions", CONSTRUCTION, sizes(_LOW, scaled)),
        Figure("5b", f"{base:,} subscriptions", "dimensions", CONSTRUCTION, by_dimensions),
        Figure("5c", here, _SWEEPS["10"].axis, CONSTRUCTION, swept(_LOW, "10")),
        Figure("5d", here, _SWEEPS["13"].axis, CONSTRUCTION, swept(_LOW, "13")),
        Figure("6a", low, "subscriptions", MATCHING, sizes(_LOW, scaled)),
        Figure("6b", high, "subscriptions", MATCHING, sizes(_HIGH, scaled)),
        Figure("8a", f"{base:,} subscriptions", "dimensions", MATCHING, by_dimensions),
        Figure("8b", f"{_A_DIMENSION * scale:g} subscriptions a dimension", "dimensions", MATCHING, a_dimension),
        Figure("14a", low, "subscriptions", STRUCTURE, sizes(_LOW, scaled)),
        Figure("14b", here, _SWEEPS["10"].axis, STRUCTURE, swept(_LOW, "10")),
        Figure("15a", queries, "subscriptions", MATCHING, sizes(QueryLogs(), _QUERIES)),
        Figure("15b", queries, "subscriptions", CONSTRUCTION, sizes(QueryLogs(), _QUERIES)),
    ]
    for number, sweep in _SWEEPS.items():
        found.append(Figure(f"{number}a", here, sweep.axis, MATCHING, swept(_LOW, number)))
        found.append(Figure(f"{number}b", there, sweep.axis, MATCHING, swept(_HIGH, number)))
    return sorted(found, key=lambda figure: (int(figure.name[:-1]), figure.name))


def table_2(largest: int) -> Table:
    """Advertisements, with what the paper prints: all of them, if `largest` allows."""
    count = min(_ADS, largest)
    return Table(
        "table-2",
        f"advertisements: {count:,} subscriptions",
        Point(AdsLike().sized(count), count),
        (MATCHING, LEARNED, BATCHED, CONSTRUCTION, STRUCTURE),
        {
            "SCAN": (435.27, None, None, None, None),
            "k-index": (616.42, None, None, 140.76, 7_320),
            "Propagation": (168.73, None, None, 62.43, 14.41),
            "OpIndex": (3.21, None, None, 24.92, 574.38),
            "BE-Tree": (2.26, None, None, 13.70, 393.21),
            "PSTBloom": (0.82, None, None, 7.81, 55.93),
            "PSTHash": (0.24, None, None, 8.22, 759.72),
        },
    )


_ABOUT = """\
Milliseconds of processor time an event, asked one at a time, as built; "learned" is after `learn` and `maintain`;
"looks at" is how many expressions an engine tries for an event, after its filters. What the tables mean is in
[ps-tree-2018.md](ps-tree-2018.md). The command goes on where an earlier run ended:

    python -m benchmarks.papers.ps_tree_2018 --publish"""

PAPER = Paper("ps-tree-2018", "PS-Tree's evaluation", _ABOUT, figures, table_2, _SHEETS)

if __name__ == "__main__":
    run(PAPER)

"""A PS-Tree beside an interval tree and a segment tree: finding, building, memory; and what writes cost as it grows.

    python -m benchmarks.ps_tree [--intervals N] [--sizes N ...]

As in the paper's Table 3 there are as many query points as intervals. Rounds take turns, and the best of each counts;
times are processor time. All three find the same. Intervals have ends anywhere, or are a hundred-thousandth as wide as
the domain, or half as wide.
"""

import argparse
import gc
import time
from collections.abc import Callable
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.report import Report
from benchmarks.timing import processor
from tamis.indexes import Expressions, parse_many
from tamis.indexes.baselines import ONE_DIMENSION, Intervals, SegmentTree
from tamis.indexes.ps_tree import PSTree

Longs = NDArray[np.int64]

_ROUNDS = 7
_SCANNED = 200
_LISTED = 100
_SINGLE = 2_000
_FEW = 100
_WRITES = 2_000
_EDGE = 2**52
_WIDTHS = {"a 100,000th of the domain": 2 * _EDGE // 100_000, "any width": 0}
# Table 3: seconds for 100,000 lookups, milliseconds to build, megabytes.
_PAPER = {
    "scan": (23.11, None, None),
    "interval-tree": (2.52, 16.02, 1.61),
    "segment-tree": (6.27e-3, 29.71, 6.86),
    "ps-tree": (0.71e-3, 91.88, 54.13),
}


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure PS-Trees beside other structures for intervals.")
    parser.add_argument("--intervals", type=int, default=100_000)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1_000, 10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    report = Report("ps_tree")
    chance = np.random.default_rng(1)
    for kind in _WIDTHS:
        measure_finding(report, kind, drawn(chance, kind, options.intervals), chance)
    measure_single(report, options.intervals, chance)
    for size in options.sizes:
        measure_writing(report, size, chance)
    report.show()
    print(f"\nKept in {report.keep()}")


def drawn(chance: np.random.Generator, kind: str, count: int) -> Longs:
    """Rows of a low and a high."""
    if kind == "any width":
        return np.sort(chance.integers(-_EDGE, _EDGE, (count, 2)), axis=1)
    width = _WIDTHS.get(kind, _EDGE)
    lows = chance.integers(-_EDGE, _EDGE - width, count)
    return np.stack([lows, lows + width], axis=1)


def parsed(ends: Longs) -> Expressions:
    expressions, errors = parse_many([f"a between {low} and {high}" for low, high in ends.tolist()])
    assert not errors
    return expressions


def rounds(works: dict[str, Callable[[], object]], count: int = _ROUNDS) -> dict[str, float]:
    """The least seconds of each, in rounds that take turns."""
    best = dict.fromkeys(works, float("inf"))
    for _ in range(count):
        for name, work in works.items():
            gc.collect()
            best[name] = min(best[name], processor(work))
    return best


def measure_finding(report: Report, kind: str, ends: Longs, chance: np.random.Generator) -> None:
    count = len(ends)
    values = chance.integers(-_EDGE, _EDGE, count)
    # What each value finds is a third of all: for listing it a hundred values are enough.
    asked = values[:_LISTED] if kind == "any width" else values
    expressions, ids = parsed(ends), np.arange(count)
    tree = PSTree()
    tree.insert_many(expressions, ids)
    indexes: dict[str, PSTree | Intervals] = {
        name: built().build(ends[:, 0], ends[:, 1]) for name, built in ONE_DIMENSION.items()
    }
    indexes["ps-tree"] = tree
    counted = [index.count_many(values) for index in indexes.values()]
    assert all(np.array_equal(counted[0], other) for other in counted[1:])

    def built(name: str) -> Callable[[], object]:
        if name == "ps-tree":
            return lambda: PSTree().insert_many(expressions, ids)
        return lambda: ONE_DIMENSION[name]().build(ends[:, 0], ends[:, 1])

    building = rounds({name: built(name) for name in indexes}, 3)
    counting = rounds({name: partial(index.count_many, values) for name, index in indexes.items()})
    placing = rounds(
        {
            name: partial(index.place_many, values)
            for name, index in indexes.items()
            if isinstance(index, PSTree | SegmentTree)
        }
    )
    enumerating = rounds({name: partial(index.locate_many, asked, "any") for name, index in indexes.items()})
    ordering = rounds({name: partial(index.locate_many, asked) for name, index in indexes.items()})
    lows, highs = ends[:, 0].copy(), ends[:, 1].copy()
    scanning = processor(lambda: [np.flatnonzero((lows <= v) & (v <= highs)) for v in values[:_SCANNED]]) / _SCANNED
    spaces = len(np.unique(np.concatenate([ends[:, 0], ends[:, 1] + 1]))) + 1
    title = (
        f"{count:,} intervals of {kind}, {spaces:,} spaces, {counted[0].mean():,.1f} intervals a value: "
        f"nanoseconds a value, of {count:,} at once"
    )
    nothing = dict.fromkeys(("place", "count", "ids"), "")
    report.row(title, structure="scan (numpy)", **nothing, ids_ascending=scanning * 1e9, build_ms="", megabytes="")
    for name, index in indexes.items():
        report.row(
            title,
            structure=name,
            place=placing[name] / count * 1e9 if name in placing else "",
            count=counting[name] / count * 1e9,
            ids=enumerating[name] / len(asked) * 1e9,
            ids_ascending=ordering[name] / len(asked) * 1e9,
            build_ms=building[name] * 1e3,
            megabytes=index.memory_bytes() / 1e6,
        )
    title = f"The same as ratios to ps-tree, of {kind}, and the paper's Table 3"
    for name, (paper_seconds, paper_build, paper_memory) in _PAPER.items():
        found = scanning * count if name == "scan" else counting[name]
        seconds, build, memory = _PAPER["ps-tree"]
        assert build is not None
        assert memory is not None
        own = indexes.get(name)
        report.row(
            title,
            structure=name,
            querying=shown(found / counting["ps-tree"]),
            papers_querying=shown(paper_seconds / seconds),
            building=shown(building[name] / building["ps-tree"]) if own else "",
            papers_building=shown(paper_build / build) if paper_build else "",
            memory=shown(own.memory_bytes() / tree.memory_bytes()) if own else "",
            papers_memory=shown(paper_memory / memory) if paper_memory else "",
        )


def measure_single(report: Report, count: int, chance: np.random.Generator) -> None:
    """Calls with one value each, from Python, beside many values at once."""
    kinds = {kind: drawn(chance, kind, count) for kind in _WIDTHS}
    kinds["any width, beyond 2**53"] = kinds["any width"] * 1024 + chance.integers(0, 1024, (count, 2))
    for kind, ends in kinds.items():
        tree = PSTree()
        tree.insert_many(parsed(np.sort(ends, axis=1)), np.arange(count))
        values = chance.integers(ends.min(), ends.max(), count)
        single = values[:_SINGLE].tolist()
        few = single if tree.count_many(values).mean() < _FEW else single[:_LISTED]
        works: dict[str, tuple[int, Callable[[], object]]] = {
            "place_many": (count, partial(tree.place_many, values)),
            "count_many": (count, partial(tree.count_many, values)),
            "count": (_SINGLE, partial(each, tree.count, single)),
            "locate": (len(few), partial(each, tree.locate, few)),
        }
        seconds = rounds({name: work for name, (_, work) in works.items()})
        nanoseconds = {name: seconds[name] / works[name][0] * 1e9 for name in works}
        report.row("Nanoseconds a value: many at once, and one at a time", intervals=kind, **nanoseconds)


def each(call: Callable[[int], object], values: list[int]) -> None:
    for value in values:
        call(value)


def shown(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 100 else f"{ratio:.2g}"  # noqa: PLR2004 - digits that mean something


def measure_writing(report: Report, size: int, chance: np.random.Generator) -> None:
    """Single writes of wide ranges into a tree of as many, and out of it, given as parsed expressions."""
    tree = PSTree()
    tree.insert_many(parsed(drawn(chance, "half of the domain", size)), np.arange(size))
    more = list(parsed(drawn(chance, "half of the domain", _WRITES)))
    values = chance.integers(-_EDGE, _EDGE, 100_000)
    before = tree.statistics()["postings"]
    inserting = deleting = float("inf")
    postings = 0
    gc.collect()
    gc.disable()
    for _ in range(_ROUNDS):
        began = time.process_time()
        for number, predicate in enumerate(more):
            tree.insert(predicate, size + number)
        inserting = min(inserting, time.process_time() - began)
        postings = tree.statistics()["postings"]
        began = time.process_time()
        for number, predicate in enumerate(more):
            tree.delete(predicate, size + number)
        deleting = min(deleting, time.process_time() - began)
    gc.enable()
    report.row(
        "Single writes of ranges half as wide as the domain",
        ranges=f"{size:,}",
        inserts_a_second=_WRITES / inserting,
        deletes_a_second=_WRITES / deleting,
        places_an_insert=(postings - before) / _WRITES,
        count_ns=rounds({"": lambda: tree.count_many(values)})[""] / len(values) * 1e9,
        bytes_a_range=tree.memory_bytes() / size,
    )


if __name__ == "__main__":
    main()

"""Matching: engines beside the yardstick, on workloads that it makes, an event at a time and in batches.

    python -m benchmarks.matching [--shape dense|sparse|ads ...] [--engine NAME ...] [--scale 1.0]

The yardstick (benchmarks/yardstick) is plain C++ without updates, strings or longs; its best method, a list for each
value with all predicates written out in it, is the measure. Rounds take turns and the best of each counts; times are
processor time. What is compared has found the same ids.
"""

import argparse
import gc
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.yardstick import Event, Yardstick
from tamis.indexes import ENGINES, EventBatch, Expressions, Index, create

_ROUNDS = 5
_EVENTS = 512
_LEARNED = 512
# Subscriptions, dimensions, cardinality, predicates, event size, equality, seeded share, Zipf.
_SHAPES = {
    "dense": (1_000_000, 100, 100, 5, 30, 0.2, 0.1, 0),
    "sparse": (1_000_000, 30_000, 100, 5, 30, 0.2, 0.1, 1),
    "ads": (3_000_000, 122, 100, 8, 20, 0.2, 0.1, 0),
}
_SLOW = {"scan": 32}  # events that are enough


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure matching beside the yardstick.")
    parser.add_argument("--shape", action="append", choices=list(_SHAPES))
    parser.add_argument("--engine", action="append", choices=list(ENGINES))
    parser.add_argument("--scale", type=float, default=1.0, help="of the number of subscriptions")
    options = parser.parse_args()
    report = Report("matching")
    for shape in options.shape or _SHAPES:
        with tempfile.TemporaryDirectory() as folder:
            measure(report, shape, options.scale, options.engine or list(ENGINES), Path(folder))
    report.show()
    print(f"\nKept in {report.keep()}")


def measure(report: Report, shape: str, scale: float, engines: list[str], folder: Path) -> None:
    yardstick = Yardstick.built(folder)
    count, *rest = _SHAPES[shape]
    count = int(count * scale)
    yardstick.make(str(count), *map(str, rest))
    expressions, events = yardstick.workload(_EVENTS + _LEARNED)
    events, learned = events[:_EVENTS], events[_EVENTS:]
    found: dict[str, int] = {}
    works: dict[str, Callable[[], float]] = {}
    bytes_each: dict[str, float] = {}
    built: dict[str, float] = {}

    def plain(method: str) -> float:
        run = yardstick.run(method, len(events))
        found[method] = run.ids
        bytes_each[f"yardstick, {method}"] = run.structure_bytes / count
        return run.us_an_event

    for method in ("access", "inline"):
        works[f"yardstick, {method}"] = partial(plain, method)
    for engine in engines:
        index, seconds = prepared(engine, expressions, learned)
        for size in (1, _EVENTS):
            sample = events[: _SLOW.get(engine, len(events))]
            label = f"{engine}, {'one at a time' if size == 1 else f'batches of {size}'}"
            bytes_each[label], built[label] = index.memory_bytes()["structure"] / count, count / seconds
            works[label] = timed(label, index, sample, size, found)
    best = dict.fromkeys(works, float("inf"))
    for _ in range(_ROUNDS):
        for name, work in works.items():
            best[name] = min(best[name], work())
    wanted = found["inline"]
    table = f"{shape}: {count:,} conjunctions, {wanted / len(events):.0f} ids an event"
    for name, ids in found.items():
        assert ids == wanted or name.startswith(tuple(_SLOW)), (name, ids, wanted)
    for name, us in best.items():
        report.row(
            table,
            what=name,
            us_an_event=us,
            ratio=f"{us / best['yardstick, inline']:.2f}",
            structure_bytes=f"{bytes_each[name]:.0f}",
            taken_a_second=f"{built[name]:,.0f}" if name in built else "",
        )


def prepared(engine: str, expressions: Expressions, learned: list[Event]) -> tuple[Index, float]:
    index = create(engine)
    gc.collect()
    began = time.process_time()
    index.insert_many(np.arange(len(expressions), dtype=np.uint32), expressions)
    seconds = time.process_time() - began
    index.learn(EventBatch.from_events(learned))
    while index.maintain(1):
        pass
    return index, seconds


def timed(label: str, index: Index, events: list[Event], size: int, found: dict[str, int]) -> Callable[[], float]:
    batches = [
        EventBatch.from_events(events[at : at + size], vocabulary=index.vocabulary)
        for at in range(0, len(events), size)
    ]

    def work() -> float:
        gc.collect()
        began = time.process_time()
        ids = sum(len(index.match_batch(batch).ids) for batch in batches)
        taken = time.process_time() - began
        found[label] = ids
        return taken / len(events) * 1e6

    return work


if __name__ == "__main__":
    main()

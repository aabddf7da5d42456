"""What an engine costs beside its matching: taking expressions, snapshots, single writes; and `scan` beside plain C++.

    python -m benchmarks.engines [--expressions N] [--engine NAME]

The expressions are W1's (docs/workloads.md). Taking them, saving and loading stand beside copying the same bytes, in
memory or on the disk, in rounds that take turns; the best round of each counts. `scan` stands beside the yardstick's
scan (benchmarks/yardstick), on a workload that the yardstick makes itself. Times are processor time, files wall time.
"""

import argparse
import gc
import os
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from benchmarks.timing import processor, rounds, wall
from benchmarks.workloads.registry import WORKLOADS
from benchmarks.yardstick import Yardstick
from tamis.indexes import ENGINES, EventBatch, Expressions, Index, create, load, parse_many

_WRITES = 20_000
_YARDSTICK_WORKLOAD = ("100000", "100", "100", "5", "30", "0.2", "0.1")
_SCANNED_EVENTS = 512


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure engines beside their matching.")
    parser.add_argument("--expressions", type=int, default=1_000_000)
    parser.add_argument("--engine", choices=list(ENGINES), default="scan")
    options = parser.parse_args()
    report = Report("engines")
    workload = WORKLOADS["W1"].workload.sized(options.expressions)
    texts = list(workload.subscriptions(options.expressions))
    expressions, errors = parse_many(texts)
    assert not errors
    with tempfile.TemporaryDirectory() as folder:
        measure_bulk(report, options.engine, expressions, Path(folder))
    measure_single_writes(report, options.engine, expressions, texts)
    with tempfile.TemporaryDirectory() as folder:
        measure_scan(report, Path(folder))
    report.show()
    print(f"\nKept in {report.keep()}")


def filled(engine: str, expressions: Expressions) -> Index:
    index = create(engine)
    index.insert_many(np.arange(len(expressions), dtype=np.uint32), expressions)
    return index


def measure_bulk(report: Report, engine: str, expressions: Expressions, folder: Path) -> None:
    index = filled(engine, expressions)
    memory = index.memory_bytes()
    path, copy = folder / "snapshot", folder / "copy"
    index.save(path)
    size = path.stat().st_size
    in_memory = np.ones(memory["expressions"] + memory["ids"], np.uint8)

    def copy_file() -> None:
        with path.open("rb") as source, copy.open("wb") as target:
            shutil.copyfileobj(source, target, 1 << 20)
            target.flush()
            os.fsync(target.fileno())

    names = ["insert_many", "copying its bytes in memory", "save", "copying the file, to the disk", "load"]
    names += ["reading the file's bytes", "freeze"]
    seconds = rounds(
        lambda: processor(lambda: filled(engine, expressions)),
        lambda: processor(in_memory.copy),
        lambda: wall(lambda: index.save(path)),
        lambda: wall(copy_file),
        lambda: wall(lambda: load(path, engine)),
        lambda: wall(path.read_bytes),
        lambda: wall(index.freeze),
    )
    table = f"{engine}: {len(expressions):,} expressions at once; a snapshot has {size / 1e6:.0f} MB"
    for place, (name, taken) in enumerate(zip(names, seconds, strict=True)):
        ratio = f"{taken / seconds[place + 1]:.2f}" if place in {0, 2, 4} else ""
        report.row(table, what=name, milliseconds=taken * 1e3, beside_the_next=ratio)
    table = f"{engine}: bytes an expression"
    for part, size in memory.items():
        report.row(table, part=part, bytes=size / len(expressions))


def measure_single_writes(report: Report, engine: str, expressions: Expressions, texts: list[str]) -> None:
    index = filled(engine, expressions)
    count = len(expressions)
    chosen = np.random.default_rng(1).permutation(count)[:_WRITES].tolist()
    added = [expressions[place] for place in chosen]
    table = f"{engine}: single writes at {count:,}, in thread processor time"

    def timed(what: str, write: Callable[[int], object]) -> None:
        """Write `_WRITES` times, told which time it is."""
        longest, began_all = 0.0, time.thread_time()
        for turn in range(_WRITES):
            began = time.thread_time()
            write(turn)
            longest = max(longest, time.thread_time() - began)
        mean = (time.thread_time() - began_all) / _WRITES
        report.row(table, what=what, a_second=1 / mean, longest_ms=longest * 1e3)

    gc.collect()
    gc.disable()
    timed("insert of an Expression", lambda turn: index.insert(count + turn, added[turn]))
    timed("insert of a text", lambda turn: index.insert(2 * count + turn, texts[chosen[turn]]))
    frozen = index.freeze()
    timed("replace, while a frozen index is kept", lambda turn: index.insert(chosen[turn], added[turn]))
    del frozen
    timed("delete", lambda turn: index.delete(chosen[turn]))
    gc.enable()


def measure_scan(report: Report, folder: Path) -> None:
    yardstick = Yardstick.built(folder)
    yardstick.make(*_YARDSTICK_WORKLOAD)
    expressions, events = yardstick.workload(_SCANNED_EVENTS)
    index = filled("scan", expressions)
    batches = {
        size: [EventBatch.from_events(events[at : at + size]) for at in range(0, len(events), size)]
        for size in (1, 64, 512)
    }
    found: dict[str, int] = {}

    def scan(size: int) -> float:
        return processor(lambda: found.update({str(size): sum(len(index.match_batch(b).ids) for b in batches[size])}))

    def plain() -> float:
        run = yardstick.run("scan", len(events))
        found["yardstick"] = run.ids
        return run.us_an_event * len(events) / 1e6

    works: list[Callable[[], float]] = [plain, *(lambda size=size: scan(size) for size in batches)]
    seconds = rounds(*works)
    assert len(set(found.values())) == 1, found
    sample = [index[place] for place in range(1000)]
    predicates = sum(len(expression.predicates) for expression in sample) / len(sample)
    table = (
        f"scan beside the yardstick's: {len(index):,} conjunctions of {predicates:.1f} predicates, {len(events)} events"
    )
    names = ["the yardstick's scan, an event at a time", *(f"scan, batches of {size}" for size in batches)]
    for name, taken in zip(names, seconds, strict=True):
        report.row(table, what=name, us_an_event=taken / len(events) * 1e6, ratio=f"{taken / seconds[0]:.2f}")


if __name__ == "__main__":
    main()

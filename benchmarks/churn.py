"""Hours of churn: an engine beside `scan`, the same expressions coming and going in both, every answer compared.

    python -m benchmarks.churn [--engine NAME] [--option NAME=NUMBER ...] [--minutes 60] [--expressions 30000]

Subscriptions of several workloads (docs/workloads.md) are inserted, replaced and deleted one at a time and many at
once, under dense and under sparse ids; events are learned, and the index tidied, between batches. After each round a
batch is matched by both. Told at the end: writes, events and ids compared, and the structure's bytes an expression,
which must not grow by more than 5 % after the first tenth of the time.
"""

import argparse
import sys
import time
from itertools import islice
from random import Random
from statistics import fmean

import numpy as np

from benchmarks.report import Report
from benchmarks.workloads.registry import WORKLOADS
from benchmarks.workloads.workload import Event
from tamis.indexes import DEFAULT_ENGINE, ENGINES, EventBatch, Index, create

_WORKLOADS = ("W1", "W2", "W3x", "W4", "W5", "W6", "W7")
_TEXTS_EACH = 20_000
_EVENTS_EACH = 512
_WRITES_A_ROUND = 2_000
_BATCH = 256
_GROWTH_MAX = 1.05


def main() -> None:
    """Run until the time is over or an answer is wrong."""
    parser = argparse.ArgumentParser(description="Hold an engine to scan under churn.")
    parser.add_argument("--engine", choices=list(ENGINES), default=DEFAULT_ENGINE)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--expressions", type=int, default=30_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--option", action="append", default=[], help="of the engine, as name=number")
    options = parser.parse_args()
    settings = {name: float(value) for name, value in (option.split("=") for option in options.option)}
    churn = Churn(create(options.engine, **settings), options.expressions, options.seed)
    began = shown = time.monotonic()
    limit = options.minutes * 60
    sizes: list[float] = []
    while (elapsed := time.monotonic() - began) < limit:
        churn.round()
        if elapsed > limit / 10:
            sizes.append(churn.index.memory_bytes()["structure"] / len(churn.held))
        if time.monotonic() - shown > 60:  # noqa: PLR2004 -- a minute
            shown = time.monotonic()
            print(f"{elapsed / 60:.0f} min: {churn.told()}", flush=True)
    tenth = max(1, len(sizes) // 10)
    before, after = fmean(sizes[:tenth]), fmean(sizes[-tenth:])
    report = Report("churn")
    report.row(
        f"{options.engine} beside scan: {options.minutes:g} minutes of churn, {options.expressions:,} expressions",
        writes=churn.writes,
        events=churn.events_compared,
        ids=churn.ids_compared,
        wrong=0,
        structure_bytes_before=before,
        structure_bytes_after=after,
    )
    report.show()
    print(f"\nKept in {report.keep()}")
    if after > before * _GROWTH_MAX:
        sys.exit(f"the structure grew from {before:.1f} to {after:.1f} bytes an expression")


class Churn:
    """The two indexes, and what they are asked."""

    def __init__(self, index: Index, expressions: int, seed: int) -> None:
        self.random = Random(seed)
        self.texts: list[str] = []
        self.events: list[Event] = []
        for name in _WORKLOADS:
            workload = WORKLOADS[name].workload.sized(_TEXTS_EACH)
            self.texts += islice(workload.subscriptions(_TEXTS_EACH), _TEXTS_EACH)
            self.events += workload.events(_EVENTS_EACH)
        self.index, self.oracle = index, create("scan")
        self.ids = [*range(expressions), *(self.random.randrange(2**32) for _ in range(expressions // 4))]
        self.held: set[int] = set()
        self.writes = self.events_compared = self.ids_compared = self.rounds = 0

    def round(self) -> None:
        self.rounds += 1
        share = self.random.choice((0.2, 0.5, 0.5, 0.8))  # how many writes are deletions
        for _ in range(_WRITES_A_ROUND):
            if self.held and self.random.random() < share:
                self.delete(self.random.choice(self.ids))
            else:
                self.insert(self.random.choice(self.ids))
        if self.rounds % 4 == 0:
            self.insert_many(self.random.sample(self.ids, _WRITES_A_ROUND))
        if self.rounds % 3 == 0:
            self.index.learn(EventBatch.from_events(self.random.sample(self.events, _BATCH)))
        self.index.maintain(0.02)
        self.compare()

    def insert(self, number: int) -> None:
        text = self.random.choice(self.texts)
        for index in (self.index, self.oracle):
            index.insert(number, text)
        self.held.add(number)
        self.writes += 1

    def delete(self, number: int) -> None:
        if number in self.held:
            for index in (self.index, self.oracle):
                index.delete(number)
            self.held.remove(number)
            self.writes += 1

    def insert_many(self, numbers: list[int]) -> None:
        texts = self.random.choices(self.texts, k=len(numbers))
        for index in (self.index, self.oracle):
            index.insert_many(numbers, texts)
        self.held.update(numbers)
        self.writes += len(numbers)

    def compare(self) -> None:
        events = self.random.sample(self.events, _BATCH)
        found = self.index.match_batch(EventBatch.from_events(events, vocabulary=self.index.vocabulary))
        wanted = self.oracle.match_batch(EventBatch.from_events(events, vocabulary=self.oracle.vocabulary))
        if not (np.array_equal(found.offsets, wanted.offsets) and np.array_equal(found.ids, wanted.ids)):
            sys.exit(f"round {self.rounds}: the answers differ")
        self.events_compared += len(events)
        self.ids_compared += len(wanted.ids)

    def told(self) -> str:
        memory = self.index.memory_bytes()
        return (
            f"{self.writes:,} writes, {self.ids_compared:,} ids compared, {len(self.held):,} expressions, "
            f"structure {memory['structure'] / 1e6:.2f} MB, in all {sum(memory.values()) / 1e6:.2f} MB"
        )


if __name__ == "__main__":
    main()

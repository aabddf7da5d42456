"""An engine on trial: filled, taught and asked, and what each of that costs in processor time."""

import gc
import time
from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from benchmarks.workloads.workload import Event
from tamis.indexes import EventBatch, Expressions, Index, create

_IDS_MAX = 2**31 - 1  # no batch of a benchmark is cut


def made(engine: str) -> Index:
    """An empty index of an engine, with options if it is spelled so: `pst-hash:pairs_from=0`."""
    name, *options = engine.split(":")
    return create(name, **{option.partition("=")[0]: int(option.partition("=")[2]) for option in options})


class Trial:
    """One engine with one index. Of repeated builds and matches the shortest counts, since others share the machine."""

    def __init__(self, engine: str, expressions: Expressions) -> None:
        self.engine = engine
        self.expressions = expressions
        self.index = made(engine)
        self.build_seconds = float("inf")
        self.learn_seconds = 0.0
        self.us_an_event: dict[int, float] = {}
        """By how many are asked at once."""
        self._batches: dict[int, list[EventBatch]] = {}

    def build(self) -> None:
        """Fill an index, instead of the one that was filled before."""
        self.index = made(self.engine)
        self._batches.clear()
        gc.collect()
        began = time.process_time()
        self.index.insert_many(np.arange(len(self.expressions), dtype=np.uint32), self.expressions)
        self.build_seconds = min(self.build_seconds, time.process_time() - began)

    def learn(self, events: Iterable[Event]) -> None:
        """Let the index adapt to such events until it has nothing more to do."""
        began = time.process_time()
        self.index.learn(EventBatch.from_events(events))
        while self.index.maintain(1):
            pass
        self.learn_seconds = time.process_time() - began

    def meet(self, events: Sequence[Event], size: int = 1) -> None:
        """Take the events that `match` asks about, `size` at once."""
        self._batches[size] = [
            EventBatch.from_events(events[at : at + size], vocabulary=self.index.vocabulary)
            for at in range(0, len(events), size)
        ]

    def match(self, size: int = 1, batches_max: int | None = None) -> float:
        """The seconds that the first batches take."""
        batches = self._batches[size][:batches_max]
        gc.collect()
        events = 0
        began = time.process_time()
        for batch in batches:
            events += self.index.match_batch(batch, ids_max=_IDS_MAX).events
        seconds = time.process_time() - began
        self.us_an_event[size] = min(self.us_an_event.get(size, float("inf")), seconds / events * 1e6)
        return seconds

    def answers(self, count: int) -> list[NDArray[np.uint32]]:
        """The ids of the first events that are asked about one at a time."""
        return [self.index.match_batch(batch).ids for batch in self._batches[1][:count]]

    def work(self, count: int) -> dict[str, float]:
        """What the engine looks at for one of the first events, on average."""
        total: dict[str, int] = {"ids": 0}
        for batch in self._batches[1][:count]:
            matches = self.index.match_batch(batch)
            total["ids"] += len(matches.ids)
            for name, times in matches.work.items():
                total[name] = total.get(name, 0) + times
        return {name: times / count for name, times in total.items()}

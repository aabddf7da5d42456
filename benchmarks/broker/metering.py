"""What counting costs: a broker's processor time an event with its meters, and without.

    python -m benchmarks.broker.metering [--events N] [--rounds N]

Both match the same backlog in turns, in one process, on a Kafka of its own on this machine; each round has a group of
its own. Processor time is the worker's own thread's, not that of the client library's threads. A thread that asks for
the metrics' text once a second runs beside those that count.
"""

import argparse
import statistics
import threading
import time
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.broker.__main__ import Plan, prepare
from benchmarks.broker.steps import kept_by, no_attempts
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.matching_step import Matched
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics import Meters
from tamis.broker.metrics_families import families
from tamis.broker.metrics_text import text_of
from tamis.broker.shipping import Identity
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.worker import Counts, Worker
from tamis.codecs.groups import Groups
from tamis.codecs.layout import Layout
from tamis.codecs.messages import Messages

_TELLINGS = 1000


class NoMeters(Meters):
    """Is told everything, and counts nothing."""

    def __getattribute__(self, name: str) -> Any:
        return _nothing


def _nothing(*_told: object) -> None:
    pass


class Watch:
    """The worker's processor time from its first event to its last, as it asks whether it must stop."""

    def __init__(self, events: int, counts: Counts) -> None:
        self._events = events
        self._counts = counts
        self._began = 0.0
        self.seconds = 0.0

    def must_stop(self) -> bool:
        if self._counts.events == 0:
            self._began = time.thread_time()
        if self._counts.events < self._events:
            return False
        self.seconds = time.thread_time() - self._began
        return True


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subscriptions", type=int, default=100_000)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=6)
    asked = parser.parse_args()
    report = Report("broker-metering")
    microseconds: dict[bool, list[float]] = {False: [], True: []}
    with LocalStack(StackOptions(redis=False)) as stack:
        settings = stack.settings
        plan = Plan(asked.subscriptions, "alerts", asked.events, asked.rounds, 0)
        layout = prepare(settings, plan)
        log = SubscriptionLog(settings, layout, 0)
        log.catch_up()
        run(settings, replace(layout, number=2), log, asked.events, is_metered=True)  # topics are new to the client
        for turn in range(asked.rounds):
            for is_metered in (False, True) if turn % 2 else (True, False):
                number = 3 + 2 * turn + is_metered
                seconds = run(settings, replace(layout, number=number), log, asked.events, is_metered=is_metered)
                microseconds[is_metered].append(seconds / asked.events * 1e6)
            with_meters, without = microseconds[True][-1], microseconds[False][-1]
            report.row(
                "Processor time of the worker, microseconds an event",
                round=turn + 1,
                without=without,
                with_meters=with_meters,
                ratio=with_meters / without,
            )
        log.close()
    middle = {is_metered: statistics.median(taken) for is_metered, taken in microseconds.items()}
    for events in (1, 100, 10_000):
        report.row("Telling of one batch", events=events, microseconds=telling(events))
    report.row("Medians", without=middle[False], with_meters=middle[True], ratio=middle[True] / middle[False])
    report.show()
    print(f"\nKept in {report.keep()}")


def run(settings: Settings, layout: Layout, log: SubscriptionLog, events: int, *, is_metered: bool) -> float:
    """The worker's processor seconds."""
    meters, counts = Meters() if is_metered else NoMeters(), Counts()
    kept = kept_by(settings, counts, meters)
    worker = Worker(settings, Identity(layout, 0, "metering"), log, kept, no_attempts())
    watch = Watch(events, counts)
    done = threading.Event()
    reader = threading.Thread(target=partial(_read, meters, done))
    if is_metered:
        reader.start()
    worker.run(watch.must_stop)
    done.set()
    if is_metered:
        reader.join()
    worker.close()
    return watch.seconds


def telling(events: int) -> float:
    """Processor microseconds for all that a worker tells of one batch, of four partitions and a match each."""
    numbers = np.arange(events)
    stamps = np.full(events, round(time.time() * 1000))
    part = Messages("events", 0, numbers, stamps, [b""] * events)
    ids = numbers.astype(np.uint32)
    groups = Groups(ids, ids, np.arange(events + 1, dtype=np.uint64), ids, None)
    unread: Any = None
    step = Matched(events, events, unread, unread, groups, unread, [], events)
    meters, batch = Meters(), MessageBatch(unread, [part])
    meters.positions = {("events", partition): 0 for partition in range(4)}
    taken: list[float] = []
    for _ in range(_TELLINGS):
        began = time.thread_time()
        meters.began()
        meters.caught_up()
        meters.matched()
        meters.reached(meters.positions)
        meters.sent(step)
        meters.finished(batch, step)
        taken.append(time.thread_time() - began)
    return statistics.median(taken) * 1e6


def _read(meters: Meters, done: threading.Event) -> None:
    while not done.wait(1.0):
        text_of(families(meters, {}, is_ready=True, scrape_errors=0))


if __name__ == "__main__":
    main()

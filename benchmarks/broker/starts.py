"""What snapshots in Redis do for starts, and what they cost: the subscriptions of a broker, from either source.

    python -m benchmarks.broker.starts [--subscriptions N] [--rounds N]

On a Kafka and a Redis of its own on this machine. Starts are taken in turns. While a snapshot is written, batches are
matched without a pause, and the longest one is told beside the longest without.
"""

import argparse
import threading
import time
from collections.abc import Callable

from benchmarks.broker import workload
from benchmarks.broker.__main__ import Plan, prepare
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.kafka import admin_client
from tamis.broker.snapshot_loading import newest_state
from tamis.broker.snapshots import Shot, save
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.layout import Layout
from tamis.indexes import EventBatch

_BATCH = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    parser.add_argument("--workload", choices=sorted(workload.WORKLOADS), default="alerts")
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    report = Report("starts")
    with LocalStack(StackOptions()) as stack:
        settings = stack.settings
        layout = prepare(settings, Plan(arguments.subscriptions, arguments.workload, 1, 0, 0))
        log = from_topic(report, settings, layout)
        keep(report, settings, layout, log)
        for _ in range(arguments.rounds):
            from_snapshot(report, settings, layout).close()
            log.close()
            log = from_topic(report, settings, layout)
        log.close()
    report.show()
    print(f"\nKept in {report.keep()}")


def from_topic(report: Report, settings: Settings, layout: Layout) -> SubscriptionLog:
    began = time.perf_counter()
    log = SubscriptionLog(settings, layout, 0)
    log.catch_up()
    report.row("Start from the topic", subscriptions=len(log.state), seconds=time.perf_counter() - began)
    return log


def from_snapshot(report: Report, settings: Settings, layout: Layout) -> SubscriptionLog:
    began = time.perf_counter()
    restored = newest_state(settings, admin_client(settings.kafka), layout, 0)
    assert restored is not None
    loaded = time.perf_counter()
    log = SubscriptionLog(settings, layout, 0, restored=restored)
    log.catch_up()
    ended = time.perf_counter()
    report.row(
        "Start from a snapshot",
        subscriptions=len(log.state),
        seconds=ended - began,
        of_these_catching_up=ended - loaded,
    )
    return log


def keep(report: Report, settings: Settings, layout: Layout, log: SubscriptionLog) -> None:
    """Write one while batches are matched."""
    index = log.state.index
    batch = EventBatch.from_events([event.attributes for event in workload.events(_BATCH)], vocabulary=index.vocabulary)

    def longest(is_over: Callable[[], bool]) -> tuple[float, int]:
        """The longest time from the end of a batch to the end of the next one, and how many there were."""
        most, count, last = 0.0, 0, time.perf_counter()
        while not is_over():
            index.match_batch(batch)
            now = time.perf_counter()
            most, last, count = max(most, now - last), now, count + 1
        return most, count

    end = time.monotonic() + 3.0
    quiet, before = longest(lambda: time.monotonic() > end)
    began = time.perf_counter()
    shot = Shot(layout, 0, log.state.freeze(), log.view, time.monotonic())
    frozen = time.perf_counter() - began
    sizes: list[int] = []
    thread = threading.Thread(target=lambda: sizes.append(save(settings, shot).size))
    thread.start()
    stall, count = longest(lambda: not thread.is_alive())
    seconds = time.perf_counter() - began
    report.row(
        "Write a snapshot",
        subscriptions=len(log.state),
        seconds=seconds,
        bytes_each=sizes[0] / len(log.state),
        freezing_milliseconds=frozen * 1000,
        longest_batch_milliseconds=stall * 1000,
        without_a_snapshot=quiet * 1000,
        batches_a_second=count / seconds,
        batches_a_second_without=before / 3.0,
    )


if __name__ == "__main__":
    main()

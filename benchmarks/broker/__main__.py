"""The broker end to end: events and notifications a second, latency, memory, and how long a start takes.

    python -m benchmarks.broker [--subscriptions N] [--events N] [--rounds N] [--seconds N]

On a Kafka of its own on this machine, which shares the processors with what is measured; so rates stand beside those of
a bare transactional loop of the same client, taken in turns in the same run.
"""

import argparse
import time
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from benchmarks.broker import workload
from benchmarks.broker.bare import copy
from benchmarks.broker.latency import PROBE, measure_latency
from benchmarks.broker.steps import add_rows, kept_by, no_attempts, watched
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.kafka import NewTopic, Producer, admin_client, producer
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.shipping import Identity
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.topics import Wanted, create
from tamis.broker.worker import Counts, Worker
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription

_EVENT_PARTITIONS = 4


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    subscriptions: int
    workload: str
    events: int
    rounds: int
    seconds: int


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    parser.add_argument("--workload", choices=sorted(workload.WORKLOADS), default="alerts")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    plan = Plan(**vars(parser.parse_args()))
    report = Report("broker")
    with LocalStack(StackOptions(redis=False)) as stack:
        settings = stack.settings
        layout = prepare(settings, plan)
        log = start(report, settings, layout)
        measure_rates(report, settings, layout, log, plan)
        log.close()
        measure_latency(report, settings, layout, plan.seconds)
    report.show()
    print(f"\nKept in {report.keep()}")


def prepare(settings: Settings, plan: Plan) -> Layout:
    names = settings.names
    layout = create(settings, Wanted(event_partitions=_EVENT_PARTITIONS)).layout
    admin = admin_client(settings.kafka)
    for future in admin.create_topics([NewTopic("live", _EVENT_PARTITIONS), NewTopic("copied", 1)]).values():
        future.result()
    subscribers = [*(f"subscriber-{number}" for number in range(workload.SUBSCRIBERS)), "prober"]
    ensure_notification_topics(admin, settings, subscribers)
    out = producer(settings.kafka)
    probe = Subscription("prober", "probe", PROBE)
    for subscription in (probe, *workload.WORKLOADS[plan.workload](plan.subscriptions)):
        place = partition_of(subscription.subscriber, 16)
        send(out, names.subscriptions, subscription.encode(), subscription.key, place)
    distinct = [event.encode() for event in workload.events(min(plan.events, 50_000))]
    for number in range(plan.events):
        send(out, names.events, distinct[number % len(distinct)], None, number % _EVENT_PARTITIONS)
    out.flush()
    return layout


def send(out: Producer, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
    while True:
        try:
            out.produce(topic, value, key, partition)
        except BufferError:
            out.poll(0.1)
        else:
            return


def start(report: Report, settings: Settings, layout: Layout) -> SubscriptionLog:
    before = resident_bytes()
    began = time.perf_counter()
    log = SubscriptionLog(settings, layout, 0)
    log.catch_up()
    seconds = time.perf_counter() - began
    count = len(log.state)
    index = log.state.index.memory_bytes()
    engine = sum(index.values()) - index["mapped"]
    beside = sum(log.state.memory_bytes().values())
    report.row(
        "Start from the topic",
        subscriptions=count,
        seconds=seconds,
        subscriptions_a_second=count / seconds,
        resident_bytes_each=(resident_bytes() - before) / count,
        engine_bytes_each=engine / count,
        beside_bytes_each=beside / count,
    )
    report.show()
    return log


def measure_rates(report: Report, settings: Settings, layout: Layout, log: SubscriptionLog, plan: Plan) -> None:
    """In turns; each round reads the whole backlog under a group of its own."""
    targets = [settings.names.notifications(f"subscriber-{number}") for number in range(workload.SUBSCRIBERS)]
    watch, seconds = Watch(plan.events), Counter[str]()
    for turn in range(plan.rounds):
        watch = Watch(plan.events)
        copy(
            settings.kafka, f"bare-{turn}", settings.names.events, targets, settings.broker.batch_events, watch.is_done
        )
        bare = watch.rate
        counts = Counts()
        identity = Identity(replace(layout, number=2 + turn), 0, "benchmark")
        kept = kept_by(settings, counts)
        worker = Worker(settings, identity, log, kept, no_attempts())
        watch = Watch(plan.events)
        seconds = Counter()
        with watched(seconds):
            worker.run(partial(watch.has_counted, counts, seconds))
        worker.close()
        report.row(
            "Events a second",
            round=turn + 1,
            bare=bare,
            tamis=watch.rate,
            share=watch.rate / bare,
            notifications=watch.rate * counts.notifications / plan.events,
            transactions=counts.transactions,
            processor_share=watch.processor_share,
        )
    add_rows(report, seconds, plan.events / watch.rate, plan.events)
    report.show()


class Watch:
    """Runs from when the first batch is waited for until the last event is committed."""

    def __init__(self, events: int) -> None:
        self._events = events
        self._began = self._ended = time.perf_counter()
        self._processor = time.process_time()

    def is_done(self, done: int) -> bool:
        if done == 0:
            self._began, self._processor = time.perf_counter(), time.process_time()
        if done < self._events:
            return False
        self._ended = time.perf_counter()
        self.processor_share = (time.process_time() - self._processor) / (self._ended - self._began)
        return True

    def has_counted(self, counts: Counts, seconds: Counter[str]) -> bool:
        if counts.events == 0:
            seconds.clear()
        return self.is_done(counts.events)

    @property
    def rate(self) -> float:
        return self._events / (self._ended - self._began)


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()

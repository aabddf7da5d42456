"""The broker end to end: events and notifications a second, latency, memory, and how long a start takes.

    python -m benchmarks.broker [--subscriptions N] [--events N] [--rounds N] [--seconds N]

On a Kafka of its own on this machine, which shares the processors with what is measured; so rates stand beside those of
a bare transactional loop of the same client, taken in turns in the same run.
"""

import argparse
import time
from pathlib import Path

from benchmarks.broker import workload
from benchmarks.broker.bare import copy
from benchmarks.broker.latency import measure_latency
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.kafka import NewTopic, admin_client, producer, topic_ids
from tamis.broker.partitions import partition_of
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.worker import Counts, Identity, Worker
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.layout import KEY, Layout, Start
from tamis.indexes.limits import Limits

_EVENT_PARTITIONS = 4


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    parser.add_argument("--workload", choices=sorted(workload.WORKLOADS), default="alerts")
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    arguments = parser.parse_args()
    report = Report("broker")
    with LocalStack(StackOptions(redis=False)) as stack:
        settings = stack.settings
        layout = prepare(settings, arguments.workload, arguments.subscriptions, arguments.events)
        log = start(report, settings, layout)
        measure_rates(report, settings, layout, log, arguments.events, arguments.rounds)
        measure_latency(report, settings, layout, log, arguments.seconds)
        log.close()
    report.show()
    print(f"\nKept in {report.keep()}")


def prepare(settings: Settings, kind: str, subscriptions: int, events: int) -> Layout:
    names = settings.names
    admin = admin_client(settings.kafka)
    compacted = {"cleanup.policy": "compact"}
    outlets = [names.notifications(f"subscriber-{number}") for number in range(workload.SUBSCRIBERS)]
    topics = [
        NewTopic(names.layout, 1, config=compacted),
        NewTopic(names.subscriptions, 16, config=compacted),
        NewTopic(names.events, _EVENT_PARTITIONS),
        NewTopic("live", _EVENT_PARTITIONS),
        *(NewTopic(name, 1) for name in (names.views, names.rejected, names.undelivered, *outlets)),
    ]
    for future in admin.create_topics(topics).values():
        future.result()
    ids = topic_ids(admin, [names.subscriptions, names.events])
    starts = [Start(names.events, partition, 0) for partition in range(_EVENT_PARTITIONS)]
    layout = Layout(1, 1, 16, ids, Limits(), starts)
    out = producer(settings.kafka)
    out.produce(names.layout, layout.encode(), KEY)
    for subscription in workload.WORKLOADS[kind](subscriptions):
        place = partition_of(subscription.subscriber, 16)
        send(out, names.subscriptions, subscription.encode(), subscription.key, place)
    distinct = [event.encode() for event in workload.events(min(events, 50_000))]
    for number in range(events):
        send(out, names.events, distinct[number % len(distinct)], None, number % _EVENT_PARTITIONS)
    out.flush()
    return layout


def send(out: object, topic: str, value: bytes, key: bytes | None, partition: int) -> None:
    while True:
        try:
            out.produce(topic, value, key, partition)  # type: ignore[attr-defined]
        except BufferError:
            out.poll(0.1)  # type: ignore[attr-defined]
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


def measure_rates(
    report: Report, settings: Settings, layout: Layout, log: SubscriptionLog, events: int, rounds: int
) -> None:
    """In turns; each round reads the whole backlog under a group of its own."""
    targets = [settings.names.notifications(f"subscriber-{number}") for number in range(workload.SUBSCRIBERS)]
    for turn in range(rounds):
        began = time.perf_counter()
        first = began

        def stop(done: int) -> bool:
            nonlocal first
            if done == 0:
                first = time.perf_counter()
            return done >= events

        copy(settings.kafka, f"bare-{turn}", settings.names.events, targets, settings.broker.batch_events, stop)
        bare = events / (time.perf_counter() - first)
        counts = Counts()
        identity = Identity(Layout(2 + turn, 1, 16, layout.topics, Limits(), layout.starts), 0, "benchmark")
        worker = Worker(settings, identity, log, EventDecoder(), counts)
        processor = 0.0

        def must_stop() -> bool:
            nonlocal first, processor
            if counts.events == 0:
                first, processor = time.perf_counter(), time.process_time()
            return counts.events >= events

        worker.run(must_stop)
        seconds = time.perf_counter() - first
        processor = time.process_time() - processor
        worker.close()
        report.row(
            "Events a second",
            round=turn + 1,
            bare=bare,
            tamis=events / seconds,
            share=events / seconds / bare,
            notifications=counts.notifications / seconds,
            transactions=counts.transactions,
            processor_share=processor / seconds,
        )
    report.show()


def resident_bytes() -> int:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()

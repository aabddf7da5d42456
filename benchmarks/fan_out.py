"""One event for very many: through kills, to each subscriber once.

    python -m benchmarks.fan_out [--case SUBSCRIBERS:SUBSCRIPTIONS ...] [--kills N]

A broker on a Kafka of its own is killed with SIGKILL whenever another part of the event was committed, so that somebody
has to go on in the midst of it, as many times as wanted. Then everything is read, and counted.
"""

import argparse
import time
from collections import Counter
from collections.abc import Iterator

from benchmarks.broker.__main__ import send
from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.admin.local.tamis_broker import TamisBroker
from tamis.broker.configuration import Settings
from tamis.broker.kafka import TopicPartition, admin_client, consumer, producer
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.reading import BEGINNING, records
from tamis.codecs.event import Event
from tamis.codecs.layout import Layout
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Progress

_CASES = ["5000:5000", "2000:1000000"]
_SECONDS = 600.0
_AT_ONCE = 1000
_BEFORE, _AFTER = 3, 5
"""Events that are for the first subscriber only, before the one that is for all, and behind it."""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--case", action="append", help="how many subscribers, and how many subscriptions they have")
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    report = Report("fan_out")
    for case in options.case or _CASES:
        subscribers, subscriptions = map(int, case.split(":"))
        with LocalStack(StackOptions(redis=False)) as stack:
            measure(report, stack, subscribers, subscriptions, options.kills)
        report.show()
    print(f"\nKept in {report.keep()}")


def measure(report: Report, stack: LocalStack, subscribers: int, subscriptions: int, kills: int) -> None:
    settings = stack.settings
    broker = TamisBroker(stack, settings)
    names = [f"s{number:05}" for number in range(subscribers)]
    ensure_notification_topics(admin_client(settings.kafka), settings, names)
    write(settings, broker.layout, names, subscriptions)
    broker.start()
    broker.wait_until_ready()
    began = time.monotonic()
    out = producer(settings.kafka)
    numbers = [*([0] * _BEFORE), 1, *([0] * _AFTER)]
    for number in numbers:
        send(
            out,
            settings.names.events,
            Event(str(number), 0, {"many": number, "one": 1 - number, "number": -1}).encode(),
            None,
            0,
        )
    out.flush()
    killed, parts = kill_in_the_midst(settings, broker, kills)
    while broker.events_waiting():
        if time.monotonic() - began > _SECONDS:
            raise TimeoutError("the broker did not finish")
        time.sleep(0.1)
    seconds = time.monotonic() - began
    counts = Counter(seen(settings, names))
    expected = {(name, _BEFORE): subscriptions // subscribers for name in names}
    expected |= {(names[0], offset): 1 for offset in range(len(numbers)) if offset != _BEFORE}
    told = dict(counts.keys())
    report.row(
        "One event for many",
        subscribers=subscribers,
        subscriptions=subscriptions,
        kills=killed,
        parts_seen=parts,
        seconds=seconds,
        expected=len(expected),
        delivered=counts.total(),
        undelivered=sum(1 for _ in records(settings.kafka, [TopicPartition(settings.names.undelivered, 0, BEGINNING)])),
        lost=len(expected.keys() - told.keys()),
        doubled=counts.total() - len(told),
        wrong=sum(told[delivery] != expected.get(delivery) for delivery in told),
    )
    broker.close()


def write(settings: Settings, layout: Layout, names: list[str], subscriptions: int) -> None:
    out = producer(settings.kafka)
    topic = settings.names.subscriptions
    mine = [Subscription(names[0], "one", "one = 1")]
    for number in range(subscriptions):
        mine.append(Subscription(names[number % len(names)], f"n{number}", f"many = 1 and number != {number}"))
        if len(mine) == _AT_ONCE or number == subscriptions - 1:
            for each in mine:
                send(out, topic, each.encode(), each.key, partition_of(each.subscriber, layout.partitions))
            mine.clear()
    out.flush()


def kill_in_the_midst(settings: Settings, broker: TamisBroker, kills: int) -> tuple[int, int]:
    """How often it was killed, and how many different parts of the event were seen to be committed."""
    client = consumer(settings.kafka, settings.names.group(broker.layout.number, 0))
    place = TopicPartition(settings.names.events, 0)
    seen: set[str] = set()
    killed = 0
    deadline = time.monotonic() + _SECONDS
    try:
        while time.monotonic() < deadline:
            committed = client.committed([place], 30)[0]
            if committed.offset > _BEFORE:
                break
            after = Progress.parse(committed.metadata or "").after
            if after and after not in seen:
                seen.add(after)
                if killed < kills:
                    killed += 1
                    broker.kill()
                    broker.start()
            time.sleep(0.02)
    finally:
        client.close()
    return killed, len(seen)


def seen(settings: Settings, names: list[str]) -> Iterator[tuple[tuple[str, int], int]]:
    """Each notification: whose, of which event, and how many subscriptions it names."""
    prefix = settings.names.notifications("")
    places = [TopicPartition(settings.names.notifications(name), 0, BEGINNING) for name in names]
    for start in range(0, len(places), 500):
        for record in records(settings.kafka, places[start : start + 500]):
            notification = Notification.decode(record.value() or b"")
            yield ((record.topic() or "").removeprefix(prefix), notification.offset), len(notification.matches)


if __name__ == "__main__":
    main()

"""What it costs to write notifications, beside copying their bytes; and events and records, beside fastavro.

    python -m benchmarks.encoding [--events N]

Events have 30 attributes; each matches 15 of 100,000 subscriptions, which are of 10,000 subscribers and have two tags.
All that stands in one table takes turns; the best of five rounds counts. Processor time.
"""

import argparse
import io
import random
from collections.abc import Callable

import fastavro
import numpy as np

from benchmarks.report import Report
from benchmarks.timing import processor, rounds
from tamis.codecs.event import SCHEMA as EVENT_SCHEMA
from tamis.codecs.event import Event
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.groups import Groups
from tamis.codecs.messages import Messages
from tamis.codecs.notification import SCHEMA as NOTIFICATION_SCHEMA
from tamis.codecs.notification import Notification
from tamis.codecs.notification_encoder import Notifications, encoded
from tamis.codecs.rendering import rendered
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import Matches

_SUBSCRIPTIONS = 100_000
_SUBSCRIBERS = 10_000
_MATCHES = 15
_ATTRIBUTES = 30
_SINGLE = 2_000
_BYTES_MAX = 4 << 20
"""A piece at a time, as a broker would take them."""


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--events", type=int, default=10_000)
    count = parser.parse_args().events
    report = Report("encoding")
    chance = random.Random(1)
    events = [event(chance, number) for number in range(count)]
    for kind in NotificationFormat:
        measure_notifications(report, kind, events)
    measure_records(report, events[:_SINGLE])
    report.show()
    print(f"\nKept in {report.keep()}")


def event(chance: random.Random, number: int) -> Event:
    values: dict[str, int | float | str] = {}
    for attribute in range(_ATTRIBUTES):
        value = chance.randrange(100_000)
        values[f"attribute-{attribute}"] = (value, value / 8, f"value-{value}")[attribute % 3]
    return Event(f"event-{number}", 1_700_000_000_000_000 + number, values)


def filled(kind: NotificationFormat) -> SubscriptionTable:
    table = SubscriptionTable(kind)
    put_all(table, _SUBSCRIPTIONS)
    return table


def put_all(table: SubscriptionTable, count: int) -> None:
    for number in range(count):
        tags = {"team": f"team-{number % 50}", "priority": str(number % 3)}
        table.put(number, number % _SUBSCRIBERS, f"subscription-{number}", tags, number % 10 == 0)


def matches_of(count: int) -> Matches:
    chance = np.random.default_rng(1)
    ids = np.sort(chance.integers(0, _SUBSCRIPTIONS, (count, _MATCHES), np.uint32), axis=1).reshape(-1)
    offsets = np.arange(count + 1, dtype=np.uint64) * _MATCHES
    return Matches(offsets, ids, count, chance.random(len(ids)), {})


def all_parts(groups: Groups, table: SubscriptionTable, columns: EventColumns) -> list[Notifications]:
    parts = [encoded(groups, table, columns, 0, _BYTES_MAX)]
    while parts[-1].end < len(groups):
        parts.append(encoded(groups, table, columns, parts[-1].end, _BYTES_MAX))
    return parts


def measure_notifications(report: Report, kind: NotificationFormat, events: list[Event]) -> None:
    table = filled(kind)
    values = [one.encode() for one in events]
    if kind is NotificationFormat.JSON:
        values = rendered(EventDecoder(), messages_of(values))
    matches, columns = matches_of(len(events)), columns_of(events, values)
    groups = grouped(matches, table)
    parts = all_parts(groups, table, columns)
    seconds = rounds(
        lambda: processor(lambda: copy_all(parts)),
        lambda: processor(lambda: grouped(matches, table)),
        lambda: processor(lambda: encode_all(groups, table, columns)),
        lambda: processor(lambda: [list(part) for part in parts]),
    )
    count, size = len(groups), sum(memoryview(part).nbytes for part in parts)
    title = f"{kind}: {count:,} notifications of {size / count:.0f} bytes, {len(values[0])} of them the event's"
    names = ("copying their bytes", "grouping matches by subscriber", "encoding", "taking each as a bytes object")
    for name, taken in zip(names, seconds, strict=True):
        times = f"{taken / seconds[0]:.2f}"
        report.row(title, what=name, million_a_second=count / taken / 1e6, times_copying=times)
    report.row("Bytes a subscription in the table", format=kind, bytes=table.memory_bytes() / len(table))


def columns_of(events: list[Event], values: list[bytes]) -> EventColumns:
    count = len(events)
    times = np.array([one.time for one in events], np.int64)
    partitions, offsets = np.zeros(count, np.int32), np.arange(count, dtype=np.int64)
    return EventColumns([one.id for one in events], times, ["tamis.events"] * count, partitions, offsets, values)


def messages_of(values: list[bytes]) -> Messages:
    return Messages("tamis.events", 0, range(len(values)), [0] * len(values), values)


def copy_all(parts: list[Notifications]) -> None:
    for part in parts:
        np.frombuffer(memoryview(part), np.uint8).copy()


def encode_all(groups: Groups, table: SubscriptionTable, columns: EventColumns) -> None:
    """Each piece goes when the next one is made."""
    end = 0
    while end < len(groups):
        end = encoded(groups, table, columns, end, _BYTES_MAX).end


def measure_records(report: Report, events: list[Event]) -> None:
    """One at a time, in Python."""
    count = len(events)
    values = [one.encode() for one in events]
    as_dicts = [{"id": one.id, "time": one.time, "attributes": dict(one.attributes), "weights": {}} for one in events]
    event_schema = fastavro.parse_schema(EVENT_SCHEMA.source)
    notification_schema = fastavro.parse_schema(NOTIFICATION_SCHEMA.source)
    table = filled(NotificationFormat.AVRO)
    notifications = list(encoded(grouped(matches_of(count), table), table, columns_of(events, values)))[:count]

    def write_with_fastavro() -> None:
        for one in as_dicts:
            fastavro.schemaless_writer(io.BytesIO(), event_schema, one)

    def read_with_fastavro() -> None:
        for one in notifications:
            fastavro.schemaless_reader(io.BytesIO(one[10:]), notification_schema, None)

    works: dict[str, Callable[[], object]] = {
        "Event.encode": lambda: [one.encode() for one in events],
        "fastavro's writer, of an event": write_with_fastavro,
        "Notification.decode": lambda: [Notification.decode(one) for one in notifications],
        "fastavro's reader, of a notification": read_with_fastavro,
        "SubscriptionTable.put": lambda: put_all(table, count),
        "rendering an event as JSON": lambda: rendered(EventDecoder(), messages_of(values)),
    }
    seconds = rounds(*(lambda work=work: processor(work) for work in works.values()))
    for (name, _), taken in zip(works.items(), seconds, strict=True):
        report.row("One at a time", what=name, microseconds=taken / count * 1e6)


if __name__ == "__main__":
    main()

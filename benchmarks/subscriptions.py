"""What it costs to load subscriptions, and to name notifications, beside the same made of plain objects.

    python -m benchmarks.subscriptions [--records N]

Records have an expression of five predicates; each third has two tags, of a hundred kinds, and there are ten of a
subscriber. *Making the strings* is what would be left if nothing were checked: each record's key, name and expression
as a str, cut out of bytes at places that are known. All that stands in one table takes turns; the best of five rounds
counts. Processor time.
"""

import argparse
import random
from collections.abc import Callable

import numpy as np

from benchmarks.report import Report
from benchmarks.timing import processor, rounds
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.groups import Groups
from tamis.codecs.headers import NotificationId
from tamis.codecs.notification_ids import notification_ids
from tamis.codecs.subscription import Subscription, parsed_key
from tamis.codecs.subscription_columns import SubscriptionColumns
from tamis.codecs.subscription_reader import read_subscriptions
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import create, parse_many
from tamis.indexes.vocabulary import Vocabulary

_BATCH = 10_000
_OWNED = 10
_SINGLE = 10_000
_HEADERS = 200_000
_NOTIFIED = 10
"""Subscribers an event."""


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--records", type=int, default=1_000_000)
    count = parser.parse_args().records
    report = Report("subscriptions")
    chance = random.Random(1)
    subscriptions = [subscription(chance, number) for number in range(count)]
    measure_records(report, subscriptions)
    measure_loading(report, subscriptions)
    measure_headers(report, min(count, _HEADERS))
    report.show()
    print(f"\nKept in {report.keep()}")


def subscription(chance: random.Random, number: int) -> Subscription:
    predicates = [f"attribute{chance.randrange(100)} < {chance.randrange(100_000)}" for _ in range(5)]
    tags = {"team": f"team-{chance.randrange(50)}", "priority": str(chance.randrange(2))} if number % 3 == 0 else {}
    return Subscription(f"subscriber-{number // _OWNED}", f"subscription-{number}", " and ".join(predicates), tags)


def batches(subscriptions: list[Subscription]) -> list[tuple[list[bytes], list[bytes]]]:
    """As they are polled."""
    parts = [subscriptions[start : start + _BATCH] for start in range(0, len(subscriptions), _BATCH)]
    return [([one.key for one in part], [one.encode() for one in part]) for part in parts]


def measure_records(report: Report, subscriptions: list[Subscription]) -> None:
    records = batches(subscriptions)
    few = records[0][0][:_SINGLE], records[0][1][:_SINGLE]
    columns = [read_subscriptions(*part) for part in records]
    cuts = [(key, *places_of(key, value, one)) for (key, value), one in zip(pairs(records), subscriptions, strict=True)]
    works: dict[str, tuple[int, Callable[[], object]]] = {
        "`parsed_key` and `Subscription.decode`": (len(few[0]), lambda: decode_all(*few)),
        "making the strings": (len(subscriptions), lambda: [part for cut in cuts for part in strings(*cut)]),
        "`read_subscriptions`, batches of 10,000": (len(subscriptions), lambda: read_all(records)),
        "`SubscriptionTable.put`": (len(subscriptions), lambda: put_each(columns)),
        "`SubscriptionTable.put_many`": (len(subscriptions), lambda: put_all(columns)),
        "`parse_many`": (len(subscriptions), lambda: [parse_many(part.expressions) for part in columns]),
    }
    seconds = rounds(*(lambda work=work: processor(work) for _, work in works.values()))
    title = f"{len(subscriptions):,} records of {len(records[0][1][0])} bytes"
    for (name, (count, _)), taken in zip(works.items(), seconds, strict=True):
        report.row(title, what=name, microseconds_a_record=taken / count * 1e6)


def pairs(records: list[tuple[list[bytes], list[bytes]]]) -> list[tuple[bytes, bytes]]:
    return [pair for part in records for pair in zip(*part, strict=True)]


def places_of(key: bytes, value: bytes, one: Subscription) -> tuple[int, bytes, int, int]:
    start = value.index(one.expression.encode())
    return key.index(b"/") + 1, value, start, start + len(one.expression)


def strings(key: bytes, name: int, value: bytes, start: int, end: int) -> tuple[str, str, str]:
    return str(key, "ascii"), str(key[name:], "ascii"), str(value[start:end], "utf-8")


def decode_all(keys: list[bytes], values: list[bytes]) -> list[tuple[object, Subscription]]:
    return [(parsed_key(key), Subscription.decode(value, key)) for key, value in zip(keys, values, strict=True)]


def read_all(records: list[tuple[list[bytes], list[bytes]]]) -> None:
    """Each batch goes when the next one is read."""
    for part in records:
        read_subscriptions(*part)


def put_each(columns: list[SubscriptionColumns]) -> SubscriptionTable:
    table = SubscriptionTable()
    for number, part in enumerate(columns):
        owners = part.owners[part.positions].tolist()
        rows = zip(part.positions.tolist(), owners, part.names, part.tags, part.scores, strict=True)
        for place, owner, name, tags, scores in rows:
            table.put(number * _BATCH + place, owner, name, tags, scores)
    return table


def put_all(columns: list[SubscriptionColumns]) -> SubscriptionTable:
    table = SubscriptionTable()
    for number, part in enumerate(columns):
        ids = part.positions + np.uint32(number * _BATCH)
        table.put_many(ids, part.owners[part.positions], part.names, part.tags, part.scores)
    return table


def measure_loading(report: Report, subscriptions: list[Subscription]) -> None:
    """All of it, once."""
    records = batches(subscriptions)

    def load() -> object:
        index, table, keys = create(), SubscriptionTable(), Vocabulary()
        for part in records:
            columns = read_subscriptions(*part)
            ids = np.array([keys.intern(key) for key in columns.keys if key is not None], np.uint32)
            index.insert_many(ids, parse_many(columns.expressions)[0])
            table.put_many(ids, columns.owners, columns.names, columns.tags, columns.scores)
        held.append((table.memory_bytes() + keys.memory_bytes()) / len(subscriptions))
        return index, table, keys

    held: list[float] = []
    (seconds,) = rounds(lambda: processor(load))
    report.row(
        "Loading: records, ids of keys by a vocabulary, expressions, the default engine, the table",
        records=float(len(subscriptions)),
        seconds=seconds,
        records_a_second=len(subscriptions) / seconds,
        bytes_beside_the_engine=held[0],
    )


def measure_headers(report: Report, count: int) -> None:
    events = count // _NOTIFIED
    places = np.repeat(np.arange(events, dtype=np.uint32), _NOTIFIED)
    owners = np.random.default_rng(1).integers(0, count // _OWNED, len(places), np.uint32)
    starts, ids = np.arange(len(places) + 1, dtype=np.uint64), np.zeros(len(places), np.uint32)
    groups = Groups(places, owners, starts, ids, None)
    offsets = np.arange(events, dtype=np.int64) + (1 << 30)
    columns = EventColumns(
        ["e"] * events, offsets, ["tamis.events"] * events, np.zeros(events, np.int32), offsets, [b""] * events
    )
    topic_ids = {"tamis.events": "Zm9vYmFyYmF6cXV4cXV1eA"}
    names = [f"subscriber-{number}" for number in range(count // _OWNED)]
    encoded = [name.encode() for name in names]

    def name_all() -> None:
        """Each piece goes when the next one is made."""
        for first in range(0, len(places), _BATCH):
            notification_ids(groups, columns, topic_ids, encoded, first, min(first + _BATCH, len(places)))

    works: dict[str, Callable[[], object]] = {
        "`NotificationId.header`": lambda: [
            NotificationId(topic_ids[columns.topics[place]], 0, int(columns.offsets[place]), names[owner]).header
            for place, owner in zip(places.tolist(), owners.tolist(), strict=True)
        ],
        "`notification_ids`": name_all,
    }
    seconds = rounds(*(lambda work=work: processor(work) for work in works.values()))
    for name, taken in zip(works, seconds, strict=True):
        report.row(f"{len(places):,} headers `tamis-id`", what=name, nanoseconds_a_header=taken / len(places) * 1e9)


if __name__ == "__main__":
    main()

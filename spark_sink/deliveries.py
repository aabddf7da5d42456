"""What was delivered, from the records of notification topics and of `tamis.undelivered`; for `mapInArrow`.

Each notification tells in its header `tamis-id` which event it is of, and in its value which subscriptions matched. One
that its topic could not take counts as delivered until it is settled: then it is in its topic.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tamis.codecs.errors import RecordError
from tamis.codecs.headers import ID, RETRIED, SETTLED, NotificationId, WaitingPlace
from tamis.codecs.notification import Notification
from tamis.codecs.undelivered import Undelivered

DELIVERIES = pa.schema(
    [
        ("topic_id", pa.string()),  # of the event; None if the record is no notification
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("subscriber", pa.string()),
        ("names", pa.list_(pa.string())),  # ascending
        ("is_cut", pa.bool_()),  # the names were left out, since there was no room
        ("at_partition", pa.int32()),  # among the undelivered: of what waits there, or waited until it was sent
        ("at_offset", pa.int64()),
    ]
)
SETTLEMENTS = pa.schema([("at_partition", pa.int32()), ("at_offset", pa.int64())])
_AT_ONCE = 10_000


@dataclass(frozen=True, slots=True)
class _Record:
    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: Mapping[str, bytes]


def notified(prefix: str, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of notification topics, whose names are this and the subscriber's."""

    def row(record: _Record) -> dict[str, Any]:
        subscriber = record.topic.removeprefix(prefix)
        try:
            waited = WaitingPlace.parse(RETRIED, record.headers[RETRIED]) if RETRIED in record.headers else None
            return _row(record, subscriber, _names(record.value or b""), waited)
        except RecordError:
            return _strange(subscriber)

    yield from _mapped(batches, row, DELIVERIES)


def undelivered(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of `tamis.undelivered`, whether they wait or not."""

    def row(record: _Record) -> dict[str, Any] | None:
        if _settled_by(record) is not None:
            return None
        subscriber = (record.key or b"").decode(errors="backslashreplace")
        place = WaitingPlace(record.partition, record.offset)
        try:
            it = Undelivered.decode(record.value or b"")
            return _row(record, subscriber, _names(it.notification), place)
        except RecordError:
            return _strange(subscriber, place)

    yield from _mapped(batches, row, DELIVERIES)


def settled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Of `tamis.undelivered`, the places of those that were sent after all."""

    def row(record: _Record) -> dict[str, Any] | None:
        place = _settled_by(record)
        return None if place is None else {"at_partition": place.partition, "at_offset": place.offset}

    yield from _mapped(batches, row, SETTLEMENTS)


def _settled_by(record: _Record) -> WaitingPlace | None:
    if SETTLED not in record.headers or record.value is not None:
        return None
    try:
        return WaitingPlace.parse(SETTLED, record.headers[SETTLED])
    except RecordError:
        return None


def _row(record: _Record, subscriber: str, names: list[str], waited: WaitingPlace | None) -> dict[str, Any]:
    event = NotificationId.parse(record.headers.get(ID, b""))
    return _strange(subscriber, waited) | {
        "topic_id": event.topic_id,
        "partition": event.partition,
        "offset": event.offset,
        "names": names,
        "is_cut": not names,
    }


def _strange(subscriber: str, waited: WaitingPlace | None = None) -> dict[str, Any]:
    """What is there, but is no notification."""
    return {
        "topic_id": None,
        "partition": None,
        "offset": None,
        "subscriber": subscriber,
        "names": [],
        "is_cut": False,
        "at_partition": None if waited is None else waited.partition,
        "at_offset": None if waited is None else waited.offset,
    }


def _names(notification: bytes) -> list[str]:
    if not notification.startswith(b"{"):
        return sorted(match.name for match in Notification.decode(notification).matches)
    try:
        return sorted(str(match["name"]) for match in json.loads(notification)["matches"])
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise RecordError("bad_syntax", f"it is no notification: {error!r}") from error


def _mapped(
    batches: Iterable[pa.RecordBatch], row: Callable[[_Record], dict[str, Any] | None], schema: pa.Schema
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        for start in range(0, batch.num_rows, _AT_ONCE):
            rows = [found for record in _records(batch.slice(start, _AT_ONCE)) if (found := row(record)) is not None]
            yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _records(batch: pa.RecordBatch) -> Iterator[_Record]:
    columns = ["topic", "partition", "offset", "key", "value", "headers"]
    for topic, partition, offset, key, value, headers in zip(
        *(batch.column(name).to_pylist() for name in columns), strict=True
    ):
        told = {header["key"]: header["value"] or b"" for header in headers or ()}
        yield _Record(topic, partition, offset, key, value, told)

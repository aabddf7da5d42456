"""What was delivered, from batches of records as Spark hands them over, in both formats."""

import json
from typing import Any

import pyarrow as pa
import pytest

from tamis.codecs.headers import ID, RETRIED, SETTLED, NotificationId, WaitingPlace
from tamis.codecs.notification import Match, Notification
from tamis.codecs.undelivered import Undelivered
from tamis.spark_sink import deliveries

RECORDS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("key", pa.binary()),
        ("value", pa.binary()),
        ("headers", pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))),
    ]
)
EVENT = NotificationId("AAAAAAAAQACAAAAAAAAAAQ", 3, 17, "ann")
FOUND = {"topic_id": EVENT.topic_id, "partition": 3, "offset": 17, "subscriber": "ann"}
STRANGE: dict[str, Any] = {"topic_id": None, "partition": None, "offset": None, "names": [], "is_cut": False}
NEVER_WAITED: dict[str, Any] = {"at_partition": None, "at_offset": None}
AVRO = Notification("e-1", 0, "orders", 3, 17, [Match("x"), Match("b")], b"{}").encode()
JSON = json.dumps({"id": "e-1", "matches": [{"name": "x"}, {"name": "b"}]}).encode()
FORMATS = pytest.mark.parametrize("notification", [AVRO, JSON], ids=["avro", "json"])


def batch(*records: tuple[str, bytes | None, bytes | None, dict[str, bytes]]) -> pa.RecordBatch:
    """Of topic, key, value and headers; offsets are places."""
    rows = [
        {
            "topic": topic,
            "partition": 0,
            "offset": offset,
            "key": key,
            "value": value,
            "headers": [{"key": name, "value": header} for name, header in headers.items()],
        }
        for offset, (topic, key, value, headers) in enumerate(records)
    ]
    return pa.RecordBatch.from_pylist(rows, schema=RECORDS)


def rows(found: Any) -> list[dict[str, Any]]:
    return [row for one in found for row in one.to_pylist()]


@FORMATS
def test_a_notification_tells_its_event_and_what_matched(notification: bytes) -> None:
    records = batch(("t.notifications.ann", None, notification, {ID: EVENT.header}))
    assert rows(deliveries.notified("t.notifications.", [records])) == [
        {**FOUND, "names": ["b", "x"], "is_cut": False, **NEVER_WAITED}
    ]


@FORMATS
def test_what_was_sent_after_all_tells_where_it_waited(notification: bytes) -> None:
    headers = {ID: EVENT.header, RETRIED: WaitingPlace(2, 5).header}
    (row,) = rows(
        deliveries.notified("t.notifications.", [batch(("t.notifications.ann", None, notification, headers))])
    )
    assert (row["topic_id"], row["at_partition"], row["at_offset"]) == (EVENT.topic_id, 2, 5)


@pytest.mark.parametrize(
    ("value", "header"),
    [
        (b"rubbish", EVENT.header),
        (None, EVENT.header),
        (b"{", EVENT.header),
        (b"[1]", EVENT.header),
        (b'{"matches": [1]}', EVENT.header),
        (b'{"matches": 1}', EVENT.header),
        (AVRO, b""),
        (JSON, b"2/x"),
    ],
)
def test_what_is_no_notification_is_strange(value: bytes | None, header: bytes) -> None:
    records = batch(("t.notifications.ann", None, value, {ID: header}))
    assert rows(deliveries.notified("t.notifications.", [records])) == [
        {**STRANGE, "subscriber": "ann", **NEVER_WAITED}
    ]


@FORMATS
def test_what_waits_is_told_apart_from_what_was_settled(notification: bytes) -> None:
    waiting = Undelivered("ann", "t.notifications.ann", "too_large", notification).encode()
    records = batch(
        ("t.undelivered", b"ann", waiting, {ID: EVENT.header}),
        ("t.undelivered", b"ann", waiting, {ID: EVENT.header}),
        ("t.undelivered", b"ann", None, {SETTLED: WaitingPlace(0, 1).header}),
        ("t.undelivered", b"ann", None, {SETTLED: b"2/of/another/version"}),
        ("t.undelivered", b"bob", b"rubbish", {}),
    )
    told = rows(deliveries.undelivered([records]))
    whole = {**FOUND, "names": ["b", "x"], "is_cut": False, "at_partition": 0}
    assert told[:2] == [{**whole, "at_offset": 0}, {**whole, "at_offset": 1}]
    assert told[2:] == [
        {**STRANGE, "subscriber": name, "at_partition": 0, "at_offset": at} for name, at in (("ann", 3), ("bob", 4))
    ]
    assert rows(deliveries.settled([records])) == [{"at_partition": 0, "at_offset": 1}]


def test_what_had_no_room_for_its_matches_says_so() -> None:
    cut = Notification("e-1", 0, "orders", 3, 17, [], None).encode()
    waiting = Undelivered("ann", "t.notifications.ann", "too_large", cut, whole=False).encode()
    (row,) = rows(deliveries.undelivered([batch(("t.undelivered", b"ann", waiting, {ID: EVENT.header}))]))
    assert (row["is_cut"], row["names"], row["offset"]) == (True, [], 17)

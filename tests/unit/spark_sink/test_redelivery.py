"""Notifications of a replay; no Spark."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from tamis.codecs.event import Event
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.headers import NotificationId
from tamis.codecs.notification import Match, Notification
from tamis.indexes import parse
from tamis.spark_sink.match_file import digest_of, load_match_file, write_match_file
from tamis.spark_sink.matching import Matcher, MatchTask
from tamis.spark_sink.redelivery import NotificationWriter
from tamis.spark_sink.versions import Version

VERSIONS = [
    Version("bob/x", parse("a >= 2")),
    Version("ann/x", parse("a < 3 weight 2"), {"team": "blue"}, scores=True),
    Version("ann/y", parse("exists a")),
]


def events_of(*values: bytes) -> pa.RecordBatch:
    count = len(values)
    return pa.RecordBatch.from_arrays(
        [
            pa.array(["t"] * count, pa.string()),
            pa.array(["id-of-t"] * count, pa.string()),
            pa.array([3] * count, pa.int32()),
            pa.array(range(10, 10 + count), pa.int64()),
            pa.array([0] * count, pa.timestamp("us", "UTC")),
            pa.array(values, pa.binary()),
            pa.array([b"k%d" % number for number in range(count)], pa.binary()),
        ],
        ["topic", "topic_id", "partition", "offset", "timestamp", "value", "key"],
    )


def written(path: Path, form: NotificationFormat, batch: pa.RecordBatch) -> list[dict[str, Any]]:
    write_match_file(path, VERSIONS)
    matcher = Matcher(
        load_match_file(path, "pst-hash"), MatchTask(path.name, digest_of(path), "pst-hash"), tells_scores=True
    )
    writer = NotificationWriter(matcher, form)
    return [
        row for found in matcher.match(batch, []) for part in writer.write(batch, found) for row in part.to_pylist()
    ]


def test_they_are_what_a_broker_sends(tmp_path: Path) -> None:
    values = [Event(f"e{number}", number, {"a": number}).encode() for number in (1, 2, 9)]
    rows = written(tmp_path / "f.tamis", NotificationFormat.AVRO, events_of(values[0], b"rubbish", *values[1:]))
    assert [(row["offset"], row["subscriber"], row["key"]) for row in rows] == [
        (10, "ann", b"k0"),
        (12, "ann", b"k2"),
        (12, "bob", b"k2"),
        (13, "ann", b"k3"),
        (13, "bob", b"k3"),
    ]
    assert [NotificationId.parse(row["id"]) for row in rows] == [
        NotificationId("id-of-t", 3, row["offset"], row["subscriber"]) for row in rows
    ]
    both = (Match("x", {"team": "blue"}, 2.0), Match("y"))
    assert Notification.decode(rows[0]["value"]) == Notification("e1", 1, "t", 3, 10, both, values[0])
    assert Notification.decode(rows[2]["value"]) == Notification("e2", 2, "t", 3, 12, [Match("x")], values[1])
    assert [match.name for match in Notification.decode(rows[3]["value"]).matches] == ["y"]


def test_they_may_be_json(tmp_path: Path) -> None:
    rows = written(
        tmp_path / "f.tamis",
        NotificationFormat.JSON,
        events_of(b'{"a": 1, "b": {"c": 2}}', Event("e", 0, {"a": 2}).encode()),
    )
    told = [json.loads(row["value"]) for row in rows]
    assert [one["event"] for one in told] == [{"a": 1, "b": {"c": 2}}, {"a": 2}, {"a": 2}]
    assert [match["name"] for match in told[0]["matches"]] == ["x", "y"]

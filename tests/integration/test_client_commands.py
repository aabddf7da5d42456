"""The commands of subscribers and publishers on a real Kafka: what they print, and their exit codes."""

import json
import math
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from commands import Command
from processes import soon
from tamis.broker.configuration import Settings
from tamis.broker.errors import UnreachableError
from tamis.broker.kafka import AdminClient, Producer, producer
from tamis.broker.positions import END, START, resolved
from tamis.broker.tailing import Extent, tail
from tamis.codecs.event import Event
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.headers import Rejection
from tamis.codecs.notification import Match, Notification
from tamis.codecs.notification_encoder import encoded
from tamis.codecs.subscription import default_name
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import Matches
from topic_settings import altered

SECONDS = 15.0


@pytest.fixture
def transactions(settings: Settings, unique: str) -> Producer:
    client = producer(settings.kafka, transactional_id=unique)
    client.init_transactions(SECONDS)
    return client


def committed(client: Producer, topic: str, values: list[bytes], *, abort: bool = False) -> None:
    client.begin_transaction()
    for value in values:
        client.produce(topic, value)
    client.flush(SECONDS)
    (client.abort_transaction if abort else client.commit_transaction)(SECONDS)


def notified(offset: int, event: bytes | None = None) -> bytes:
    event = event or Event(f"e{offset}", offset, {"price": offset}).encode()
    matches = [Match("cheap", {"team": "x"}), Match("rated", {}, 0.5)]
    return Notification(f"e{offset}", 1_000_000 * offset, "events", 0, offset, matches, event).encode()


class TestSubscribing:
    def test_one_is_written_and_shown(self, tamis: Command) -> None:
        printed = tamis("subscribe", "ann", "price  < 500", "--tag", "team=a=b", "--scores")
        name = default_name("price < 500")
        assert printed == f"ann/{name}\n"
        assert f"{tamis.cluster.settings.names.notifications('ann')}.\n" in tamis.said
        (row,) = tamis.rows("subs", "show", f"ann/{name}")
        assert (row["state"], row["expression"], row["tags"], row["scores"]) == (
            *("active", "price  < 500"),
            *({"team": "a=b"}, True),
        )

    def test_a_wrong_expression_is_shown_with_its_place(self, tamis: Command) -> None:
        tamis("subscribe", "ann", "price betwen 1 and 5", code=6)
        *_, text, carets = tamis.said.splitlines()
        assert text == "  price betwen 1 and 5"
        assert carets == "        ^^^^^^"
        assert tamis.rows("subscriptions", "list") == []

    def test_many_are_written_and_wrong_lines_told(self, tamis: Command, tmp_path: Path) -> None:
        file = tmp_path / "many.ndjson"
        rows = [{"subscriber": f"s{number % 3}", "name": f"n{number}", "expression": "a = 1"} for number in range(30)]
        file.write_text("\n".join(map(json.dumps, rows)))
        assert tamis("subscribe", "-f", str(file), "--dry-run") == "30 right, nothing was written, 0 wrong\n"
        assert tamis.rows("subs", "list") == []
        file.write_text('{"subscriber": "s1", "expression": "a ="}\n' + file.read_text() + "\nnonsense")
        (report,) = tamis.rows("subscribe", "-f", str(file), code=6)
        assert (report["lines"], report["subscribed"], report["wrong"]) == (32, 30, 2)
        assert [error["line"] for error in report["errors"]] == [1, 32]
        assert "line 1: column 4" in tamis.said
        assert len(tamis.rows("subs", "list")) == 30
        assert len(tamis.rows("subs", "list", "s2")) == 10

    def test_nobody_gets_more_than_are_allowed(
        self, tamis: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TAMIS_SUBSCRIPTIONS__PER_SUBSCRIBER", "3")
        file = tmp_path / "many.ndjson"
        rows = [{"subscriber": name, "name": f"n{n}", "expression": "a = 1"} for n in range(4) for name in ("ann", "b")]
        file.write_text("\n".join(map(json.dumps, rows)))
        (dry,) = tamis.rows("subscribe", "-f", str(file), "--dry-run", code=6)
        (report,) = tamis.rows("subscribe", "-f", str(file), code=6)
        assert (report["subscribed"], report["errors"]) == (6, dry["errors"])
        assert [error["line"] for error in report["errors"]] == [7, 8]
        assert "line 7: ann may have 3 subscriptions" in tamis.said
        tamis("subscribe", "ann", "a = 2", "--name", "n3", code=6)
        tamis("subscribe", "ann", "a = 2", "--name", "n2")  # one that was there
        tamis("unsubscribe", "ann/n0", "--yes")
        tamis("subscribe", "ann", "a = 2", "--name", "n3")
        assert len(tamis.rows("subs", "list")) == 6

    def test_arguments_that_do_not_go_together_are_wrong_usage(self, tamis: Command) -> None:
        for arguments in (
            ["subscribe", "ann"],
            ["subscribe", "ann", "a = 1", "-f", "x"],
            ["subscribe", "ann", "a = 1", "--tag", "x"],
            ["publish", "--attr", "a", "-n", "1"],
            ["publish", "--attr", "a=1", "-f", "x"],
            ["tail", "ann", "--from", "yesterday"],
        ):
            tamis(*arguments, code=2)

    def test_names_that_nothing_has_are_told(self, tamis: Command) -> None:
        tamis("subscribe", "ann", "a = 1", "--name", "one")
        tamis("unsubscribe", "ann/two", "--yes", code=4)
        assert "ann has one." in tamis.said
        tamis("subs", "show", "bob", code=4)
        tamis("subs", "pause", "a_b", code=6)
        tamis("subscribe", "-f", "/nowhere/at/all", code=4)

    def test_unsubscribing_asks_first(self, tamis: Command) -> None:
        for name in ("one", "two"):
            tamis("subscribe", "ann", "a = 1", "--name", name)
        tamis("unsubscribe", "ann", "--no-input", code=2)
        tamis("unsubscribe", "ann", "--dry-run")
        assert "2 would be taken back" in tamis.said
        assert len(tamis.rows("subs", "list")) == 2
        (gone,) = tamis.rows("unsubscribe", "ann/one", "--yes")
        assert gone["subscription"] == "ann/one"
        assert [row["name"] for row in tamis.rows("subs", "list")] == ["two"]

    def test_paused_ones_are_resumed(self, tamis: Command) -> None:
        for name in ("one", "two"):
            tamis("subscribe", "ann", "a = 1", "--name", name, "--tag", "t=v")
        tamis("subs", "pause", "ann/one", "--reason", "loud")
        (paused,) = tamis.rows("subs", "list", "--state", "paused")
        assert (paused["name"], paused["reason"], paused["tags"]) == ("one", "loud", {"t": "v"})
        assert [row["name"] for row in tamis.rows("subs", "resume", "ann")] == ["one"]
        assert [row["state"] for row in tamis.rows("subs", "list")] == ["active", "active"]

    def test_what_is_invalid_is_listed_so(self, tamis: Command) -> None:
        tamis("subscribe", "ann", "a = 1", "--name", "one")
        (row,) = tamis.rows("subs", "list")
        tamis.cluster.write(tamis.cluster.settings.names.subscriptions, b"x", b"ann/one", row["partition"])
        (row,) = tamis.rows("subs", "list", "--state", "invalid")
        assert row["subscription"] == "ann/one"
        assert "begins with 78" in row["reason"]
        tamis("subs", "pause", "ann/one", code=6)
        tamis("unsubscribe", "ann/one", "--yes")
        assert tamis.rows("subs", "list") == []


class TestPublishing:
    def read(self, tamis: Command) -> list[tuple[bytes | None, Event]]:
        log = tail(tamis.cluster.settings.kafka, tamis.cluster.settings.names.events, Extent(end=END))
        return [(message.key(), Event.decode(message.value() or b"")) for messages in log for message in messages]

    def test_attributes_are_constants_of_the_language_or_texts(self, tamis: Command) -> None:
        tamis("publish", "--attr", "price=450", "--attr", "region=eu", "--attr", 'zip="0815"', "--key", "k", "-n", "3")
        found = self.read(tamis)
        assert [(key, event.attributes) for key, event in found] == [
            (b"k", {"price": 450, "region": "eu", "zip": "0815"})
        ] * 3
        assert len({event.id for _, event in found}) == 3

    def test_lines_are_events_and_wrong_ones_are_told(self, tamis: Command, tmp_path: Path) -> None:
        file = tmp_path / "events.ndjson"
        file.write_text('{"attributes": {"a": 1}, "id": "1"}\n{"a": 1}\n\n{"attributes": {"a": 2}, "id": "2"}\n')
        (report,) = tamis.rows("publish", "-f", str(file), code=6)
        assert (report["published"], report["wrong"]) == (2, 1)
        assert report["errors"][0]["line"] == 2
        assert [event.id for _, event in self.read(tamis)] == ["1", "2"]
        (report,) = tamis.rows("publish", "-f", str(file), "--count", "1")
        assert report["published"] == 1

    def test_what_the_topic_will_not_have_is_told_by_its_line(
        self, tamis: Command, make_topic: Callable[..., str], tmp_path: Path
    ) -> None:
        topic = make_topic(max_message_bytes="5000")
        file = tmp_path / "events.ndjson"
        noise = random.Random(1).randbytes(10_000).hex()  # compression does not make it small
        file.write_text(json.dumps({"attributes": {"a": noise}}))
        (report,) = tamis.rows("publish", "-f", str(file), "--topic", topic, code=6)
        assert (report["published"], report["wrong"]) == (0, 1)
        assert report["errors"][0]["line"] == 1
        assert "Kafka will not have it" in report["errors"][0]["reason"]

    def test_a_rate_is_kept(self, tamis: Command) -> None:
        began = time.monotonic()
        tamis("publish", "--attr", "a=1", "--count", "11", "--rate", "10")
        assert time.monotonic() - began >= 1.0

    def test_a_topic_that_is_not_there_is_told(self, tamis: Command) -> None:
        tamis("publish", "--attr", "a=1", "--topic", "nothing-of-the-kind", code=4)
        assert "nothing-of-the-kind" in tamis.said


class TestTail:
    @pytest.fixture
    def topic(self, tamis: Command) -> str:
        tamis("subscribe", "ann", "a = 1")
        return tamis.cluster.settings.names.notifications("ann")

    def test_it_ends_though_the_last_offsets_are_transaction_markers(
        self, tamis: Command, topic: str, transactions: Producer
    ) -> None:
        committed(transactions, topic, [notified(0), notified(1)])
        committed(transactions, topic, [notified(2)], abort=True)
        committed(transactions, topic, [notified(3)])
        committed(transactions, topic, [notified(4)], abort=True)
        rows = tamis.rows("tail", "ann", "--from", "start", "--to", "end")
        assert [row["id"] for row in rows] == ["e0", "e1", "e3"]
        assert rows[2]["event"] == {"price": 3}
        assert rows[2]["time"] == "1970-01-01T00:00:03.000Z"
        assert rows[2]["matched"] == ["cheap", "rated"]
        assert rows[2]["matches"] == [
            {"name": "cheap", "tags": {"team": "x"}},
            {"name": "rated", "tags": {}, "score": 0.5},
        ]
        assert rows[2]["notification"]["offset"] == 5
        # Offsets: 0 1 records, 2 marker, 3 aborted, 4 marker, 5 record, 6 marker, 7 aborted, 8 marker.
        for start, end, ids in [
            ("1", "end", ["e1", "e3"]),
            ("start", "1", ["e0"]),
            ("start", "5", ["e0", "e1"]),
            ("2", "5", []),
            ("6", "9", []),
            ("-1", "end", ["e3"]),
            ("-2", "end", ["e1", "e3"]),
            ("-3", "-1", ["e0", "e1"]),
            ("-99", "-0", ["e0", "e1", "e3"]),
            ("99", "end", []),
            ("-1h", "end", ["e0", "e1", "e3"]),
            ("start", "-1h", []),
            ("end", "end", []),
            ("start", "2100-01-01", ["e0", "e1", "e3"]),
        ]:
            rows = tamis.rows("tail", "ann", "--from", start, "--to", end)
            assert [row["id"] for row in rows] == ids, (start, end)

    def test_a_time_is_where_kafka_has_the_first_record_of_it(
        self, tamis: Command, topic: str, admin: AdminClient
    ) -> None:
        """In a topic that is dated by who writes, so that the test can say when."""
        client = producer(tamis.cluster.settings.kafka)
        with altered(admin, topic, {"message.timestamp.type": "CreateTime"}):
            for number in range(5):
                client.produce(topic, notified(number), timestamp=1_700_000_000_000 + 1000 * number)
            assert client.flush(SECONDS) == 0
        rows = tamis.rows("tail", "ann", "--from", "2023-11-14T22:13:21", "--to", "2023-11-14T22:13:23.500Z")
        assert [row["id"] for row in rows] == ["e1", "e2", "e3"]
        assert resolved(admin, topic, [0], START) == {0: 0}

    def test_so_many_are_enough(self, tamis: Command, topic: str, transactions: Producer) -> None:
        committed(transactions, topic, [notified(number) for number in range(5)])
        assert len(tamis.rows("tail", "ann", "--from", "start", "-n", "2")) == 2
        assert tamis.rows("tail", "ann", "-n", "1", "--timeout", "0.5", code=1) == []
        assert len(tamis.rows("tail", "ann", "--from", "start", "--timeout", "2")) == 5
        with pytest.raises(UnreachableError, match="was not read to its end in 0 s"):
            list(tail(tamis.cluster.settings.kafka, topic, Extent(end=END, seconds=0)))

    def test_what_cannot_be_read_is_told_and_stops_nothing(self, tamis: Command, topic: str) -> None:
        as_json = {
            "id": "j",
            "time": 5,
            "topic": "t",
            "partition": 0,
            "offset": 1,
            "matches": [{"name": "n", "tags": {}}],
        }
        for value in (
            b"nonsense",
            notified(1, event=b"nonsense"),
            notified(2, event=b'{"a": {"b": 1e999}}'),
            json.dumps(as_json | {"event": {"x": [1]}}).encode(),
            b"{}",
            notified(3),
        ):
            tamis.cluster.write(topic, value)
        rows = tamis.rows("tail", "ann", "--from", "start", "--to", "end")
        assert [row.get("id") for row in rows] == [None, "e1", "e2", "j", None, "e3"]
        assert "the notification cannot be read" in rows[0]["problem"]
        assert "the event cannot be read" in rows[1]["problem"]
        assert rows[2]["event"] == {"a": {"b": math.inf}}
        assert rows[3]["event"] == {"x": [1]}
        tamis("tail", "ann", "--from", "start", "--to", "end", "-o", "table")

    def test_notifications_that_are_json_read_the_same(self, tamis: Command, topic: str) -> None:
        """As the broker writes them."""
        table = SubscriptionTable(NotificationFormat.JSON)
        table.put(0, 0, "plain")
        table.put(1, 0, "rated", {"t": "v"}, scores=True)
        matches = Matches(np.array([0, 2], np.uint64), np.array([0, 1], np.uint32), 1, np.array([0.0, 1.5]), {})
        event = EventColumns(
            ["e7"], np.array([7]), ["shop"], np.array([2], np.int32), np.array([9]), [b'{"a":{"b":1}}']
        )
        (value,) = encoded(grouped(matches, table), table, event)
        tamis.cluster.write(topic, value)
        (row,) = tamis.rows("tail", "ann", "--from", "start", "--to", "end")
        assert row["matches"] == [{"name": "plain", "tags": {}}, {"name": "rated", "tags": {"t": "v"}, "score": 1.5}]
        assert (row["id"], row["topic"], row["partition"], row["offset"]) == ("e7", "shop", 2, 9)
        assert row["event"] == {"a": {"b": 1}}

    def test_somebody_who_never_subscribed_has_no_notifications(self, tamis: Command) -> None:
        tamis("tail", "bob", code=4)
        assert "tamis subscribe bob" in tamis.said
        tamis("tail", "a_b", code=6)

    def test_it_follows_until_it_is_interrupted(
        self, tamis: Command, topic: str, transactions: Producer, tmp_path: Path
    ) -> None:
        printed = tmp_path / "printed"
        with tamis.process(printed, "tail", "ann") as process:
            try:

                def arrived() -> bool:
                    committed(transactions, topic, [notified(7)])
                    return soon(lambda: printed.stat().st_size > 0, 0.5)

                assert soon(arrived)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=SECONDS)
            finally:
                process.kill()
        assert (process.returncode, said) == (130, "")
        assert {json.loads(line)["id"] for line in printed.read_text().splitlines()} == {"e7"}

    def test_a_reader_that_leaves_ends_it_quietly(self, tamis: Command, topic: str, transactions: Producer) -> None:
        committed(transactions, topic, [notified(number) for number in range(3000)])
        with tamis.process(None, "tail", "ann", "--from", "start", "--to", "end") as process:
            assert process.stdout is not None
            assert process.stderr is not None
            process.stdout.readline()
            process.stdout.close()
            assert process.stderr.read() == ""
        assert process.returncode == 0


def test_rejected_input_is_told_with_its_reason(tamis: Command, settings: Settings) -> None:
    client = producer(settings.kafka)
    topic = tamis.cluster.settings.names.rejected
    rejection = Rejection("events", 3, 17, "bad_syntax", "it is not JSON")
    client.produce(topic, b"\xff{", b"k", headers=rejection.headers)  # type: ignore[arg-type]
    client.produce(topic, b"text")
    assert client.flush(SECONDS) == 0
    first, second = tamis.rows("rejected", "tail", "--from", "start", "--to", "end")
    assert {key: first[key] for key in ("topic", "partition", "offset", "reason", "detail", "key", "value")} == {
        "topic": "events",
        "partition": 3,
        "offset": 17,
        "reason": "bad_syntax",
        "detail": "it is not JSON",
        "key": "k",
        "value": {"base64": "/3s="},
    }
    assert (second["reason"], second["value"]) == ("unreadable", "text")


def test_a_kafka_that_is_not_there_is_exit_code_3(tamis: Command) -> None:
    for arguments in (["subs", "list"], ["publish", "--attr", "a=1"], ["tail", "ann"]):
        tamis(*arguments, "--timeout", "1", "--bootstrap-server", "127.0.0.1:1", code=3)
        assert "127.0.0.1:1" in tamis.said

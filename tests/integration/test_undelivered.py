"""`tamis undelivered` on a real Kafka. What waits is written here as the broker writes it."""

import random
import signal
import threading
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from clusters import Cluster
from commands import Command
from processes import soon
from tamis.broker.errors import ConflictError
from tamis.broker.kafka import (
    AdminClient,
    Message,
    NewTopic,
    TopicPartition,
    end_offsets,
    headers_of,
    producer,
)
from tamis.broker.partitions import partition_of
from tamis.broker.positions import END, resolved
from tamis.broker.tailing import Extent, tail
from tamis.broker.topic_facts import awaited_facts
from tamis.broker.undelivered import vanished_subscribers
from tamis.broker.undelivered_batches import RECORDS_MAX
from tamis.broker.undelivered_outbox import RetryOutbox
from tamis.broker.undelivered_ready import Ready
from tamis.broker.undelivered_retry import RetryReport, Wanted, retry
from tamis.codecs.event import Event
from tamis.codecs.event_columns import EventColumns
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.headers import ID, KEY, RETRIED, VIEW, NotificationId, WaitingPlace
from tamis.codecs.notification import Match, Notification
from tamis.codecs.notification_encoder import encoded
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.codecs.undelivered import Obstacle, Undelivered
from tamis.indexes import Matches

SECONDS = 15.0
SEED = 7
COUNT = 8000
"""So many take a while."""
A_VIEW = b"1;1;0:5:0"
A_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"
Headers = list[tuple[str, str | bytes | None]]


def notified(offset: int, event: bytes | None = b"", topic: str = "shop", partition: int = 0) -> Notification:
    event = Event(f"e{offset}", offset, {"price": offset}).encode() if event == b"" else event
    return Notification(
        f"e{offset}", 1_000_000 * offset, topic, partition, offset, [Match("cheap"), Match("new")], event
    )


class Undeliverable:
    """A cluster in which things wait."""

    def __init__(self, cluster: Cluster, admin: AdminClient) -> None:
        self.cluster = cluster
        self.settings = cluster.settings
        self._admin = admin
        self._client = producer(cluster.settings.kafka)

    def wait(self, subscriber: str, offsets: Iterable[int], *, reason: str = Obstacle.MISSING) -> None:
        """Events at these offsets could not be told."""
        self.wait_for(subscriber, *map(notified, offsets), reason=reason)

    def wait_for(
        self,
        subscriber: str,
        *notifications: Notification,
        reason: str = Obstacle.MISSING,
        topic_id: str = A_TOPIC_ID,
        keys: bool = True,
        as_json: bytes | None = None,
    ) -> None:
        """As the broker writes it; the record is not whole if the notification has no event."""
        topic = self.settings.names.notifications(subscriber)
        for one in notifications:
            whole = one.event is not None
            value = as_json or one.encode()
            record = Undelivered(subscriber, topic, reason, value, f"about {topic}", whole)
            identity = NotificationId(topic_id, one.partition, one.offset, subscriber)
            headers: Headers = [(ID, identity.header), (VIEW, A_VIEW)]
            if keys:
                headers.append((KEY, f"key {one.offset}".encode()))
            self._client.produce(self.settings.names.undelivered, record.encode(), subscriber.encode(), headers=headers)
        assert self._client.flush(SECONDS) == 0

    def make(self, *subscribers: str, partitions: int = 1, **config: str) -> None:
        """Their topics."""
        names = [self.settings.names.notifications(subscriber) for subscriber in subscribers]
        properties = {key.replace("_", "."): value for key, value in config.items()}
        topics = [NewTopic(name, partitions, config=properties) for name in names]
        for future in self._admin.create_topics(topics).values():
            future.result()
        awaited_facts(self._admin, names)

    def end(self, subscriber: str) -> int:
        """What is committed in its topic is below."""
        return resolved(self._admin, self.settings.names.notifications(subscriber), [0], END)[0]

    def got(self, subscriber: str) -> list[Message]:
        """What a reader of committed records sees."""
        topic = self.settings.names.notifications(subscriber)
        return list(chain.from_iterable(tail(self.settings.kafka, topic, Extent(end=END))))

    def offsets(self, subscriber: str) -> list[int]:
        """Of the events that it was told of."""
        return [Notification.decode(message.value() or b"").offset for message in self.got(subscriber)]


@pytest.fixture
def waiting(tamis: Command, admin: AdminClient) -> Undeliverable:
    return Undeliverable(tamis.cluster, admin)


class TestList:
    def test_it_tells_what_waits_and_of_which_event(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.wait("ann", [3], reason=Obstacle.TOO_LARGE)
        (row,) = tamis.rows("undelivered", "list")
        assert row.pop("time").startswith("20")
        assert row.pop("bytes") == len(notified(3).encode())
        assert row == {
            "subscriber": "ann",
            "state": "waiting",
            "reason": Obstacle.TOO_LARGE,
            "detail": f"about {waiting.settings.names.notifications('ann')}",
            "id": "e3",
            "event_time": "1970-01-01T00:00:03.000Z",
            "matched": ["cheap", "new"],
            "topic": "shop",
            "partition": 0,
            "offset": 3,
            "whole": True,
            "undelivered": {"partition": 0, "offset": 0},
        }
        tamis("undelivered", "list", "-o", "wide")

    def test_what_was_sent_after_all_is_shown_on_demand(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.wait("ann", [0, 1])
        waiting.wait("bob", [2])
        waiting.make("ann")
        tamis("undelivered", "retry", "ann", "--yes")
        assert [row["offset"] for row in tamis.rows("undelivered", "list")] == [2]
        assert [(row["offset"], row["state"]) for row in tamis.rows("undelivered", "list", "--all")] == [
            *((0, "retried"), (1, "retried"), (2, "waiting"))
        ]
        assert [row["offset"] for row in tamis.rows("undelivered", "list", "ann", "--all", "-n", "1")] == [0]
        assert [row["offset"] for row in tamis.rows("undelivered", "list", "--all", "--from", "1")] == [1, 2]
        assert [row["offset"] for row in tamis.rows("undelivered", "list", "--all", "--to", "1")] == [0]

    def test_a_summary_counts_by_subscriber_and_reason(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.wait("bob", [0, 1])
        waiting.wait("ann", [2], reason=Obstacle.FORBIDDEN)
        waiting.wait("ann", [3, 4, 5])
        rows = tamis.rows("undelivered", "list", "--summary")
        assert [(row["subscriber"], row["reason"], row["waiting"], row["retried"]) for row in rows] == [
            ("ann", Obstacle.FORBIDDEN, 1, 0),
            ("ann", Obstacle.MISSING, 3, 0),
            ("bob", Obstacle.MISSING, 2, 0),
        ]
        assert rows[1]["first"] <= rows[1]["last"]

    def test_nothing_is_an_empty_list(self, tamis: Command) -> None:
        assert tamis("undelivered", "list") == ""
        assert tamis("undelivered", "list", "-o", "json") == "[]\n"
        tamis("undelivered", "list", "a_b", code=6)
        tamis("undelivered", "list", "--timeout", "1", "--bootstrap-server", "127.0.0.1:1", code=3)

    def test_what_cannot_be_read_is_told_and_stops_nothing(self, tamis: Command, waiting: Undeliverable) -> None:
        topic = waiting.settings.names.undelivered
        whole = Undelivered("ann", "t", Obstacle.MISSING, b"nonsense")
        waiting.cluster.write(topic, b"nonsense", b"ann")
        waiting.cluster.write(topic, whole.encode(), b"ann")
        waiting.cluster.write(topic, whole.encode(), b"bob")
        waiting.cluster.write(topic, None, b"ann")
        waiting.wait("ann", [4])
        waiting.make("ann", partitions=2)
        rows = tamis.rows("undelivered", "list")
        assert [row["reason"] for row in rows] == [
            *("unreadable", Obstacle.MISSING, "unreadable", "unreadable", Obstacle.MISSING)
        ]
        assert "the notification cannot be read" in rows[1]["problem"]
        assert "its key is b'bob'" in rows[2]["problem"]
        ann, bob = tamis.rows("undelivered", "retry", "--yes", code=1)
        assert (ann["sent"], ann["reasons"], bob["reasons"]) == (1, {"unreadable": 3}, {"unreadable": 1})
        assert waiting.offsets("ann") == [4]


class TestRetry:
    def test_only_those_of_the_named_are_sent_and_once(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.make("ann", "bob", "eve")
        for offset in range(6):
            waiting.wait(("ann", "bob", "eve")[offset % 3], [offset])
        assert tamis.rows("undelivered", "retry", "ann", "eve", "--yes") == [
            {"subscriber": "ann", "sent": 2, "left": 0, "reasons": {}, "detail": None},
            {"subscriber": "eve", "sent": 2, "left": 0, "reasons": {}, "detail": None},
        ]
        assert tamis.rows("undelivered", "retry", "ann", "--yes") == []
        assert "Nothing waits." in tamis.said
        assert {name: waiting.offsets(name) for name in ("ann", "bob", "eve")} == {
            "ann": [0, 3],
            "bob": [],
            "eve": [2, 5],
        }

    def test_they_are_what_they_were_to_be_and_marked(self, tamis: Command, waiting: Undeliverable) -> None:
        """Bytes, key, headers and partition; in the order in which they waited."""
        waiting.make("ann", partitions=5)
        some = [notified(offset, partition=offset % 3) for offset in range(12)]
        waiting.wait_for("ann", *some[:7])
        waiting.wait_for("ann", some[7], keys=False)
        waiting.wait_for("ann", *some[8:])
        tamis("undelivered", "retry", "--yes")
        got = waiting.got("ann")
        assert {message.value() for message in got} == {one.encode() for one in some}
        for message in got:
            one = Notification.decode(message.value() or b"")
            assert message.partition() == partition_of(f"shop/{one.partition}", 5)
            assert message.key() == (None if one.offset == 7 else f"key {one.offset}".encode())
            assert headers_of(message) == [
                (ID, NotificationId(A_TOPIC_ID, one.partition, one.offset, "ann").header),
                (VIEW, A_VIEW),
                (RETRIED, f"1/0/{one.offset}".encode()),
            ]
        for partition in range(5):
            offsets = [int(dict(headers_of(m))[RETRIED].split(b"/")[2]) for m in got if m.partition() == partition]
            assert offsets == sorted(offsets)

    def test_it_asks_first(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.make("ann")
        waiting.wait("ann", range(3))
        tamis("undelivered", "retry", "--no-input", code=2)
        assert "Send 3 notifications to 1 subscriber?" in tamis.said
        (row,) = tamis.rows("undelivered", "retry", "--dry-run")
        assert row["sent"] == 3
        assert "3 would be sent." in tamis.said
        assert waiting.offsets("ann") == []

    def test_a_topic_that_is_missing_is_made_on_demand_only(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.make("bob")
        waiting.wait("ann", [0, 1])
        waiting.wait("bob", [2])
        for dry in (["--dry-run"], ["--yes"]):
            ann, bob = tamis.rows("undelivered", "retry", *dry, code=1)
            assert (ann["sent"], ann["left"], ann["reasons"]) == (0, 2, {Obstacle.MISSING: 2})
            assert (bob["sent"], bob["left"]) == (1, 0)
            assert "--make-topics" in tamis.said
        assert waiting.offsets("bob") == [2]
        (row,) = tamis.rows("undelivered", "retry", "--dry-run", "--make-topics")
        assert (row["sent"], row["left"]) == (2, 0)
        assert tamis.rows("undelivered", "retry", "--dry-run", code=1)[0]["left"] == 2
        (row,) = tamis.rows("undelivered", "retry", "--yes", "--make-topics")
        assert (row["sent"], row["left"]) == (2, 0)
        assert f"{waiting.settings.names.notifications('ann')} was made again." in tamis.said
        assert waiting.offsets("ann") == [0, 1]

    def test_one_that_is_still_too_large_blocks_no_other(self, tamis: Command, waiting: Undeliverable) -> None:
        """What Kafka counts is compressed: only it can tell what fits."""
        noise = random.Random(SEED)
        waiting.make("ann", max_message_bytes="6000")
        waiting.make("bob")
        waiting.wait_for("ann", *(notified(offset, noise.randbytes(2000)) for offset in range(8)))
        waiting.wait_for("ann", notified(8, noise.randbytes(7000)), notified(9, b"a" * 20_000))
        waiting.wait("bob", [10])
        waiting.wait("ann", [11])
        ann, bob = tamis.rows("undelivered", "retry", "--yes", code=1)
        assert (ann["sent"], ann["reasons"], bob["sent"]) == (10, {Obstacle.TOO_LARGE: 1}, 1)
        assert waiting.offsets("ann") == [*range(8), 9, 11]
        assert waiting.offsets("bob") == [10]
        assert [row["offset"] for row in tamis.rows("undelivered", "list")] == [8]
        (row,) = tamis.rows("undelivered", "retry", "--dry-run", code=1)
        assert "takes 6000 bytes" in row["detail"]

    def test_a_size_that_nobody_tells_is_found_out(
        self, waiting: Undeliverable, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Where this user may not see a topic's settings."""
        monkeypatch.setattr("tamis.broker.topic_facts._configs", lambda _admin, _names: {})
        noise = random.Random(SEED)
        waiting.make("ann", max_message_bytes="6000")
        waiting.make("bob")
        sizes = [1000] * 20 + [7000] + [1000] * 20
        waiting.wait_for("ann", *(notified(offset, noise.randbytes(size)) for offset, size in enumerate(sizes)))
        waiting.wait("bob", range(100, 120))
        report = RetryReport()
        retry(waiting.settings, Wanted(), report, lambda _more: None)
        assert report.sent == {"ann": 40, "bob": 20}
        assert {key: left.count for key, left in report.left.items()} == {("ann", Obstacle.TOO_LARGE): 1}
        assert waiting.offsets("ann") == [offset for offset in range(41) if offset != 20]

    def test_transactions_are_bounded(self, tamis: Command, waiting: Undeliverable) -> None:
        waiting.make("ann")
        waiting.wait("ann", range(2500))
        tamis("undelivered", "retry", "--yes")
        assert waiting.offsets("ann") == list(range(2500))
        topic = waiting.settings.names.notifications("ann")
        (end,) = end_offsets(waiting._admin, topic, [0]).values()
        assert end == 2500 + 3, "each transaction leaves a marker"


class TestOnce:
    def test_though_it_is_killed_again_and_again(self, tamis: Command, waiting: Undeliverable, tmp_path: Path) -> None:
        count = COUNT
        waiting.make("ann")
        waiting.wait("ann", range(count))
        seen = [0]
        for _ in range(2):
            with tamis.process(tmp_path / "printed", "undelivered", "retry", "--yes") as process:
                try:
                    assert soon(lambda: waiting.end("ann") > seen[-1])
                finally:
                    process.kill()
            seen.append(waiting.end("ann"))
        assert len(waiting.offsets("ann")) < count, "it was killed too late"
        tamis("undelivered", "retry", "--yes")
        assert waiting.offsets("ann") == list(range(count))
        assert tamis("undelivered", "list") == ""

    def test_though_it_is_interrupted(self, tamis: Command, waiting: Undeliverable, tmp_path: Path) -> None:
        """And nothing stays open that would hide what others write."""
        count = COUNT
        waiting.make("ann")
        waiting.wait("ann", range(count))
        with tamis.process(tmp_path / "printed", "undelivered", "retry", "--yes") as process:
            try:
                assert soon(lambda: waiting.end("ann") > 0)
                process.send_signal(signal.SIGINT)
                _, said = process.communicate(timeout=SECONDS)
            finally:
                process.kill()
        assert (process.returncode, said[:12]) == (130, "Interrupted."), said
        told = int(said.split()[1])
        assert told <= len(waiting.offsets("ann")) <= told + RECORDS_MAX < count
        waiting.cluster.write(waiting.settings.names.notifications("ann"), notified(-1).encode())
        assert waiting.offsets("ann")[-1] == -1
        tamis("undelivered", "retry", "--yes")
        assert sorted(waiting.offsets("ann")) == list(range(-1, count))

    def test_though_two_do_it_at_once(self, tamis: Command, waiting: Undeliverable, tmp_path: Path) -> None:
        count = 2500
        waiting.make("ann", "bob")
        waiting.wait("ann", range(count))
        waiting.wait("bob", range(count))
        with (
            tamis.process(tmp_path / "one", "undelivered", "retry", "--yes") as one,
            tamis.process(tmp_path / "two", "undelivered", "retry", "--yes") as two,
        ):
            said = [process.communicate(timeout=60)[1] for process in (one, two)]
        codes = {one.returncode, two.returncode}
        assert codes in ({0}, {0, 5}), said
        assert waiting.offsets("ann") == waiting.offsets("bob") == list(range(count))

    def test_whoever_begins_ends_the_one_before(self, waiting: Undeliverable) -> None:
        waiting.make("ann")
        waiting.wait("ann", range(3))
        topic = waiting.settings.names.notifications("ann")
        ready = Ready(WaitingPlace(0, 0), "ann", topic, 0, notified(0).encode(), None, {})
        outbox = RetryOutbox(waiting.settings)
        retry(waiting.settings, Wanted(), RetryReport(), lambda _more: None)
        with pytest.raises(ConflictError, match="Somebody else"):
            outbox.is_committed([ready])
        assert waiting.offsets("ann") == [0, 1, 2]

    def test_though_an_open_transaction_hides_what_was_sent(
        self, tamis: Command, waiting: Undeliverable, unique: str
    ) -> None:
        """Behind it the topic has the record that settles, and no reader of committed ones sees it."""
        waiting.make("ann")
        waiting.wait("ann", [0])
        topic = waiting.settings.names.notifications("ann")
        broker = producer(waiting.settings.kafka, unique)
        broker.init_transactions(SECONDS)
        broker.begin_transaction()
        broker.produce(waiting.settings.names.undelivered, b"of a broker that is slow")
        assert broker.flush(SECONDS) == 0
        outbox = RetryOutbox(waiting.settings)
        ready = Ready(WaitingPlace(0, 0), "ann", topic, 0, notified(0).encode(), None, {})
        assert outbox.is_committed([ready])
        assert len(tamis.rows("undelivered", "list")) == 1, "it is hidden"
        timer = threading.Timer(1.5, lambda: broker.abort_transaction(SECONDS))
        timer.start()
        began = time.monotonic()
        tamis("undelivered", "retry", "--yes")
        assert time.monotonic() - began > 1.0, "it waits"
        timer.join()
        assert waiting.offsets("ann") == [0]

    def test_though_a_topic_goes_in_the_middle(
        self, waiting: Undeliverable, admin: AdminClient, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Kafka answers that with a stall and a producer of no more use."""
        waiting.make("ann", "bob")
        waiting.wait("ann", range(5))
        waiting.wait("bob", range(5))
        original = RetryOutbox.is_committed
        topic = waiting.settings.names.notifications("ann")

        def is_committed(outbox: RetryOutbox, batch: Any) -> bool:
            if len({ready.subscriber for ready in batch}) == 2:
                admin.delete_topics([topic])[topic].result()
                assert soon(lambda: topic not in admin.list_topics(timeout=SECONDS).topics)
            return original(outbox, batch)

        monkeypatch.setattr(RetryOutbox, "is_committed", is_committed)
        report = RetryReport()
        retry(waiting.settings, Wanted(), report, lambda _more: None)
        assert (report.sent, {key: left.count for key, left in report.left.items()}) == (
            *({"bob": 5}, {("ann", Obstacle.MISSING): 5}),
        )
        assert waiting.offsets("bob") == list(range(5))


class TestLeftOutEvents:
    """Their notifications were too large to be kept with them."""

    @pytest.fixture
    def event(self, waiting: Undeliverable) -> Event:
        event = Event("e1", 5, {"price": 3, "brand": "sony"})
        waiting.cluster.write(waiting.settings.names.events, b"before")
        waiting.cluster.write(waiting.settings.names.events, event.encode())
        waiting.make("ann", "bob")
        return event

    @pytest.fixture
    def topic_id(self, waiting: Undeliverable, admin: AdminClient) -> str:
        events = waiting.settings.names.events
        return awaited_facts(admin, [events])[events].id

    def without(self, waiting: Undeliverable, offset: int = 1) -> Notification:
        return notified(offset, None, topic=waiting.settings.names.events)

    def test_they_are_put_back(self, tamis: Command, waiting: Undeliverable, event: Event, topic_id: str) -> None:
        for subscriber in ("ann", "bob"):
            waiting.wait_for(subscriber, self.without(waiting), reason=Obstacle.TOO_LARGE, topic_id=topic_id)
        tamis("undelivered", "retry", "--yes")
        for subscriber in ("ann", "bob"):
            (message,) = waiting.got(subscriber)
            assert message.value() == replace(self.without(waiting), event=event.encode()).encode()

    def test_they_are_put_back_as_the_encoder_has_them(
        self, tamis: Command, waiting: Undeliverable, event: Event, topic_id: str
    ) -> None:
        """In both formats, byte for byte."""
        values = {NotificationFormat.AVRO: event.encode(), NotificationFormat.JSON: b'{"price":3,"brand":"sony"}'}
        for form, subscriber in ((NotificationFormat.AVRO, "ann"), (NotificationFormat.JSON, "bob")):
            wanted = made_by_the_encoder(form, waiting.settings.names.events, values[form])
            null = made_by_the_encoder(form, waiting.settings.names.events, b"null")
            as_json = null if form is NotificationFormat.JSON else None
            one = replace(RATED, topic=waiting.settings.names.events)
            waiting.wait_for(subscriber, one, topic_id=topic_id, as_json=as_json)
            tamis("undelivered", "retry", subscriber, "--yes")
            (message,) = waiting.got(subscriber)
            assert message.value() == wanted

    def test_without_their_event_they_wait_on(
        self, tamis: Command, waiting: Undeliverable, event: Event, topic_id: str, admin: AdminClient
    ) -> None:
        assert event.id
        waiting.wait_for("ann", self.without(waiting), topic_id=A_TOPIC_ID)
        waiting.wait_for("ann", self.without(waiting, 7), topic_id=topic_id)
        waiting.wait_for("ann", notified(1, None, topic="nothing-of-the-kind"))
        waiting.wait_for("bob", self.without(waiting, 0), topic_id=topic_id)
        place = TopicPartition(waiting.settings.names.events, 0, 1)
        admin.delete_records([place])[place].result()
        ann, bob = tamis.rows("undelivered", "retry", "--yes", code=1)
        assert (ann["reasons"], bob["reasons"]) == ({"event_gone": 3}, {"event_gone": 1})
        assert "was made anew" in ann["detail"]
        assert "there is none at offset 0" in bob["detail"]
        assert waiting.offsets("ann") == waiting.offsets("bob") == []


def test_who_has_vanished(tamis: Command, waiting: Undeliverable) -> None:
    assert vanished_subscribers(waiting.settings) == set()
    waiting.make("ann", "eve")
    waiting.wait("ann", [0])
    waiting.wait("bob", [1])
    waiting.wait("cem", [2])
    waiting.wait("cem", [3], reason=Obstacle.TOO_LARGE)
    waiting.wait("dan", [4], reason=Obstacle.FORBIDDEN)
    waiting.wait("dan", [5])
    waiting.wait("eve", [6])
    assert vanished_subscribers(waiting.settings) == {"ann", "bob", "dan", "eve"}
    tamis("undelivered", "retry", "--yes", code=1)
    waiting.wait("eve", [7])
    assert vanished_subscribers(waiting.settings) == {"bob", "dan", "eve"}


RATED = Notification("e1", 5, "", 0, 1, [Match("plain"), Match("rated", {"t": "v"}, 1.5)], None)


def made_by_the_encoder(form: NotificationFormat, topic: str, event: bytes) -> bytes:
    table = SubscriptionTable(form)
    table.put(0, 0, "plain")
    table.put(1, 0, "rated", {"t": "v"}, scores=True)
    matches = Matches(np.array([0, 2], np.uint64), np.array([0, 1], np.uint32), 1, np.array([0.0, 1.5]), {})
    columns = EventColumns(["e1"], np.array([5]), [topic], np.array([0], np.int32), np.array([1]), [event])
    (value,) = encoded(grouped(matches, table), table, columns)
    return value

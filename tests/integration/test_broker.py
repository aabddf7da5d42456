"""A broker on a real Kafka: what users see of it, one thing at a time."""

import json
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

import pytest

from broker_cluster import Cluster
from processes import soon
from serving import SECONDS, delivered, publish, running
from tamis.broker.configuration import BrokerSettings, KafkaSettings, NotificationSettings, RegistrySettings, Settings
from tamis.broker.errors import ConflictError, InvalidError, MissingError, UnreachableError
from tamis.broker.kafka import AdminClient, Consumer, KafkaError, KafkaException, NewTopic, TopicPartition, consumer
from tamis.broker.reading import BEGINNING, records
from tamis.broker.service import serve
from tamis.broker.stall_watch import StallWatch
from tamis.broker.topics import add
from tamis.codecs.event import Event
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.headers import NotificationId, Rejection
from tamis.codecs.notification import Match, Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import View

MakeCluster = Callable[..., Cluster]


def deadline_passed() -> Callable[[], bool]:
    """Says whether it is time to give up, from now on."""
    deadline = time.monotonic() + SECONDS
    return lambda: time.monotonic() > deadline


def rejections(cluster: Cluster, count: int) -> list[tuple[Rejection, bytes | None]]:
    deadline = time.monotonic() + SECONDS
    while True:
        found = [
            (Rejection.parse(record.headers() or []), record.value())  # type: ignore[arg-type]
            for record in records(cluster.settings.kafka, [TopicPartition(cluster.names.rejected, 0, BEGINNING)])
        ]
        if len(found) >= count or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def test_a_subscriber_is_told_which_of_its_subscriptions_matched_and_the_event(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(
        Subscription("ann", "cheap", "price < 10 weight 3", {"team": "blue"}, scores=True),
        Subscription("ann", "any", "exists price"),
        Subscription("bob", "dear", "price >= 10"),
    )
    with running(cluster):
        publish(cluster, {"price": 5}, {"price": 50})
        seen = {
            (each.topic.rpartition(".")[2], Notification.decode(each.value).id): each
            for each in delivered(cluster, "ann", "bob", count=3)
        }
    assert set(seen) == {("ann", "event-0"), ("ann", "event-1"), ("bob", "event-1")}
    first = seen["ann", "event-0"]
    notification = Notification.decode(first.value)
    assert sorted(notification.matches, key=lambda match: match.name) == [
        Match("any"),
        Match("cheap", {"team": "blue"}, 3.0),
    ]
    assert (notification.time, notification.topic, notification.offset) == (
        1_700_000_000_000_000,
        cluster.names.events,
        0,
    )
    assert notification.event is not None
    assert Event.decode(notification.event).attributes == {"price": 5}
    topic_id = cluster.layout.topics[cluster.names.events]
    assert NotificationId.parse(first.header.encode()) == NotificationId(topic_id, 0, 0, "ann")
    assert sum(at.offset for at in View.parse(first.view).positions) == 3
    assert first.key == b"key-0"


def test_subscriptions_come_and_go_while_it_runs(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.make_notification_topics(["ann"])
    with running(cluster):
        for number in range(30):
            cluster.subscribe(Subscription("ann", f"s{number}", f"number = {number}"))
            publish(cluster, {"number": number}, partition=number % 4)
        assert len(delivered(cluster, "ann", count=30)) == 30
        for number in range(30):
            cluster.unsubscribe("ann", f"s{number}")
            publish(cluster, {"number": number}, partition=number % 4)
        cluster.subscribe(Subscription("ann", "paused", "exists number", paused="for now"))
        publish(cluster, {"number": 1})
        assert len(delivered(cluster, "ann", count=30)) == 30


def test_clients_that_have_stopped_reading_are_replaced(
    make_brokered: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Those of the layout, of the subscriptions, and of the events. None of them tells that it does."""
    clients: list[Consumer] = []

    def recorded(settings: KafkaSettings, group: str, properties: Mapping[str, bool]) -> Consumer:
        clients.append(consumer(settings, group, properties))
        return clients[-1]

    for name in ("following.reader", "subscription_log.reader", "worker.consumer"):
        monkeypatch.setattr(f"tamis.broker.{name}", recorded)
    for module in ("following", "worker"):
        monkeypatch.setattr(f"tamis.broker.{module}.StallWatch", partial(StallWatch, seconds=1.0))
    monkeypatch.setattr("tamis.broker.subscription_log._RENEWAL_SECONDS", 3.0)
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "any", "exists price"))
    with running(cluster):
        publish(cluster, {"price": 5})
        assert cluster.is_done(SECONDS)
        stopped = [clients[0], *clients[-2:]]
        for client in stopped:
            client.pause(client.assignment())
        cluster.subscribe(Subscription("bob", "any", "exists price"))
        publish(cluster, {"price": 6})
        seen = [
            (each.subscriber, NotificationId.parse(each.header.encode()).offset)
            for each in delivered(cluster, "ann", "bob", count=3)
        ]
        more = f"{cluster.settings.prefix}.more"
        add(cluster.settings, more, partitions=1)
        publish(cluster, {"price": 7}, topic=more)
        assert len(delivered(cluster, "ann", "bob", count=5)) == 5
    assert sorted(seen) == [("ann", 0), ("ann", 1), ("bob", 1)]


def test_an_invalid_subscription_is_told_once_and_takes_its_predecessor_away(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "a = 1"), Subscription("ann", "other", "a = 1"))
    with running(cluster), running(cluster):
        cluster.subscribe(Subscription("ann", "one", "a = "))
        assert [reject.reason for reject, _ in rejections(cluster, 1)] == ["bad_expression"]
        publish(cluster, {"a": 1})
        (match,) = Notification.decode(delivered(cluster, "ann", count=1)[-1].value).matches
        assert match.name == "other"
    with running(cluster):
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=2)) == 2
    ((rejection, value),) = rejections(cluster, 1)
    assert (rejection.topic, rejection.reason) == (cluster.names.subscriptions, "bad_expression")
    assert "column 5" in rejection.detail
    assert Subscription.decode(value or b"").expression == "a = "


def test_an_event_that_cannot_be_read_is_rejected_once_and_the_others_go_on(make_brokered: MakeCluster) -> None:
    cluster = make_brokered(shards=2)
    cluster.subscribe(Subscription("ann", "one", "exists a"), Subscription("bob", "one", "exists a"))
    with running(cluster, 0), running(cluster, 1):
        publish(cluster, {"a": 1}, partition=1)
        cluster.send(cluster.names.events, b"rubbish", b"key", 1)
        publish(cluster, {"a": 2}, partition=1)
        assert len(delivered(cluster, "ann", "bob", count=4)) == 4
        ((rejection, value),) = rejections(cluster, 1)
    assert (rejection.partition, rejection.offset, rejection.reason, value) == (1, 1, "unknown_framing", b"rubbish")


def test_a_wrong_schema_stops_the_broker_instead_of_rejecting_everything(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    for _ in range(600):
        cluster.send(cluster.names.events, b"\x01\x02", None, 0)
    cluster.flush()
    with pytest.raises(InvalidError, match=r"events could not be understood.*Is the format"):
        serve(cluster.settings, 0, None, deadline_passed())


def test_a_kafka_that_does_not_answer_at_the_start_is_told_as_such(
    make_brokered: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_brokered()

    def unanswered(_admin: AdminClient) -> list[int]:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "Timed out waiting for controller"))

    monkeypatch.setattr("tamis.broker.topic_facts.node_ids", unanswered)
    with pytest.raises(UnreachableError, match="Timed out waiting for controller"):
        serve(cluster.settings, 0, None, deadline_passed())


def test_a_process_that_uses_too_much_memory_stops_and_says_so(make_brokered: MakeCluster) -> None:
    cluster = make_brokered(broker=BrokerSettings(memory_bytes=1))
    with pytest.raises(InvalidError, match=r"and may use 0 \(broker.memory_bytes\)"):
        serve(cluster.settings, 0, None, deadline_passed())


def test_an_event_whose_schema_nobody_tells_just_now_is_no_poison(
    make_brokered: MakeCluster, caplog: pytest.LogCaptureFixture
) -> None:
    """However often whoever waits for the registry is ended and started again."""
    registry = RegistrySettings(url="http://127.0.0.1:1", extra={"max.retries": 0, "timeout": 1})
    cluster = make_brokered(schema_registry=registry)
    cluster.subscribe(Subscription("ann", "one", "exists a"))
    cluster.send(cluster.names.events, b"\0\0\0\0\5and more", None, 0)
    cluster.flush()
    for _ in range(3):
        caplog.clear()
        with running(cluster):
            assert soon(lambda: "does not tell schema 5" in caplog.text, SECONDS)
        assert "this slot died" not in caplog.text
    assert list(cluster.content(cluster.names.rejected)) == []


def test_notifications_may_be_json(make_brokered: MakeCluster) -> None:
    cluster = make_brokered(notifications=NotificationSettings(format=NotificationFormat.JSON))
    cluster.subscribe(Subscription("ann", "one", "price < 10"))
    with running(cluster):
        cluster.send(cluster.names.events, b'{"price": 5, "more": {"x": 1}}', None, 0)
        publish(cluster, {"price": 6})
        told = [json.loads(each.value) for each in delivered(cluster, "ann", count=2)]
    assert [each["event"] for each in told] == [{"price": 5, "more": {"x": 1}}, {"price": 6}]
    assert told[0]["matches"] == [{"name": "one", "tags": {}}]


def test_a_batch_that_concerns_too_many_is_cut(make_brokered: MakeCluster) -> None:
    cluster = make_brokered(broker=BrokerSettings(batch_topics=3, batch_notifications=7))
    subscribers = [f"s{number}" for number in range(10)]
    cluster.make_notification_topics(subscribers)
    cluster.subscribe(
        *(Subscription(name, "one", f"a between {at} and {at + 4}") for at, name in enumerate(subscribers))
    )
    publish(cluster, *({"a": number % 15} for number in range(60)))
    with running(cluster):
        seen = delivered(cluster, *subscribers, count=200)
    assert len(seen) == 200
    assert len({(each.topic, each.header) for each in seen}) == 200


def test_each_shard_serves_its_subscribers_and_both_see_all_events(make_brokered: MakeCluster) -> None:
    cluster = make_brokered(shards=2)
    subscribers = [f"s{number}" for number in range(8)]
    cluster.make_notification_topics(subscribers)
    cluster.subscribe(*(Subscription(name, "one", "a = 1") for name in subscribers))
    publish(cluster, {"a": 1})
    with running(cluster, 0):
        mine = {each.topic for each in delivered(cluster, *subscribers, count=1)}
        assert 0 < len(mine) < 8
        with running(cluster, 1):
            assert len(delivered(cluster, *subscribers, count=8)) == 8


def test_a_topic_that_is_added_is_matched_by_brokers_that_run(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "a = 1"))
    with running(cluster):
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=1)) == 1
        more = f"{cluster.settings.prefix}.more"
        add(cluster.settings, more, partitions=2)
        publish(cluster, {"a": 1}, topic=more, partition=1)
        assert len(delivered(cluster, "ann", count=2)) == 2


def test_a_partition_that_is_added_is_matched_from_its_beginning(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "a = 1"))
    with running(cluster):
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=1)) == 1
        cluster.add_partition()
        publish(cluster, {"a": 1}, partition=4)
        assert len(delivered(cluster, "ann", count=2)) == 2


def test_an_event_that_is_too_large_to_be_rejected_whole_is_rejected_by_its_place(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "a = 1"))
    with running(cluster):
        cluster.send(cluster.names.events, bytes(950_000), None, 0)
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=1)) == 1
        ((rejection, value),) = rejections(cluster, 1)
    assert (rejection.offset, value) == (0, None)


def test_two_processes_cannot_have_one_slot(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    with running(cluster, slot="a"):
        time.sleep(1)
        with pytest.raises(ConflictError, match="Slot a"):
            serve(cluster.settings, 0, "a", deadline_passed())


def test_a_newer_process_of_the_same_slot_on_another_machine_stays_and_the_older_says_why(
    make_brokered: MakeCluster, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "exists a"))
    with running(cluster, slot="a", ends_by=ConflictError) as older:
        publish(cluster, *({"a": number} for number in range(4)))
        assert len(delivered(cluster, "ann", count=4)) == 4
        monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path / "elsewhere"))
        with running(cluster, slot="a"):
            expired = deadline_passed()
            number = 4
            while not older.is_set() and not expired():
                publish(cluster, {"a": number}, partition=number % 4)
                number += 1
                time.sleep(0.05)
            assert older.is_set()
            assert len(delivered(cluster, "ann", count=number)) == number


def test_without_a_layout_it_says_what_to_do(settings: Settings, unique: str) -> None:
    with pytest.raises(MissingError, match="tamis topics create"):
        serve(settings.model_copy(update={"prefix": unique}), 0, None, lambda: False)


def test_a_shard_that_there_is_not_is_refused(make_brokered: MakeCluster) -> None:
    with pytest.raises(InvalidError, match="has shards 0 to 0; there is no shard 3"):
        serve(make_brokered().settings, 3, None, lambda: False)


def test_a_group_whose_offsets_are_lost_does_not_start_anywhere(make_brokered: MakeCluster) -> None:
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "exists a"))
    with running(cluster):
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=1)) == 1
    cluster.forget_offsets()
    with pytest.raises(ConflictError, match=r"offsets were lost.*tamis topics set-start"):
        serve(cluster.settings, 0, None, deadline_passed())


@pytest.mark.parametrize("topic", ["subscriptions", "events"])
def test_a_topic_that_is_made_anew_while_it_is_read_stops_the_broker(
    make_brokered: MakeCluster, admin: AdminClient, topic: str
) -> None:
    """Also if it has grown beyond where the broker was: there its offsets are those of other records."""
    cluster = make_brokered()
    cluster.subscribe(Subscription("ann", "one", "exists a"))
    name = f"{cluster.settings.prefix}.{topic}"
    with running(cluster, ends_by=ConflictError) as ended:
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", count=1)) == 1
        admin.delete_topics([name])[name].result()
        assert soon(lambda: name not in admin.list_topics().topics, SECONDS)
        admin.create_topics([NewTopic(name, 4)])[name].result()
        cluster.renew_producer()
        for number in range(20):
            for partition in range(4):
                cluster.send(name, b"", b"ann/%d" % number, partition)
        cluster.flush()
        assert soon(ended.is_set, SECONDS)

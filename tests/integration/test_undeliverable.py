"""What subscribers' topics cannot take is in `tamis.undelivered`, and nobody else notices."""

import random
import time
from collections.abc import Callable
from typing import Any

import pytest

from broker_cluster import Cluster, Reader
from serving import SECONDS, delivered, publish, running
from tamis.broker.configuration import BrokerSettings, NotificationSettings
from tamis.broker.kafka import AdminClient, NewTopic, TopicPartition, headers_of, producer
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.outbox import Outbox
from tamis.broker.partitions import outlet_partition
from tamis.broker.reading import BEGINNING, records
from tamis.broker.service import serve
from tamis.codecs.event import Event
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.headers import KEY, NotificationId
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered
from tamis.codecs.view import View, ViewRecord

MakeCluster = Callable[..., Cluster]


def undelivered(cluster: Cluster) -> list[tuple[Undelivered, dict[str, bytes]]]:
    places = [TopicPartition(cluster.names.undelivered, 0, BEGINNING)]
    return [
        (Undelivered.decode(record.value() or b""), dict(headers_of(record)))
        for record in records(cluster.settings.kafka, places)
    ]


def offsets(cluster: Cluster, subscriber: str) -> list[int]:
    """Of the events that a subscriber has notifications of, as its topic has them now."""
    with Reader(cluster.settings, [cluster.names.notifications(subscriber)]) as reader:
        reader.wait_until_done()
        return [Notification.decode(each.value).offset for each in reader.delivered]


def delete_topic(admin: AdminClient, cluster: Cluster, subscriber: str) -> None:
    admin.delete_topics([cluster.names.notifications(subscriber)])[cluster.names.notifications(subscriber)].result()


def subscribe_to_all(cluster: Cluster, *subscribers: str) -> None:
    cluster.subscribe(*(Subscription(name, "all", "exists a") for name in subscribers))


def noise(size: int) -> str:
    """A text that no compression makes smaller."""
    return random.Random(size).randbytes(size // 2).hex()


def test_what_a_deleted_topic_cannot_take_is_kept_and_the_others_go_on(
    make_brokered: MakeCluster, admin: AdminClient
) -> None:
    cluster = make_brokered()
    subscribe_to_all(cluster, "ann", "bob", "cid")
    with running(cluster):
        publish(cluster, {"a": 0}, {"a": 1})
        assert len(delivered(cluster, "ann", "bob", "cid", count=6)) == 6
        delete_topic(admin, cluster, "ann")
        publish(cluster, *({"a": number} for number in range(2, 6)))
        assert len(delivered(cluster, "bob", "cid", count=12)) == 12
        lost = undelivered(cluster)
        # Made again, it gets what comes from then on, as soon as the broker has looked.
        ensure_notification_topics(admin, cluster.settings, ["ann"])
        sent = 6
        while cluster.names.notifications("ann") not in admin.list_topics().topics or not offsets(cluster, "ann"):
            publish(cluster, {"a": sent})
            sent += 1
            time.sleep(0.2)
        assert cluster.is_done(SECONDS)
        later = undelivered(cluster)[len(lost) :]
    assert [(one.subscriber, one.reason, one.whole) for one, _ in lost] == [("ann", "topic_missing", True)] * 4
    told = [Notification.decode(one.notification) for one, _ in lost]
    assert [notification.offset for notification in told] == [2, 3, 4, 5]
    assert [NotificationId.parse(headers["tamis-id"]).offset for _, headers in lost] == [2, 3, 4, 5]
    assert [headers[KEY] for _, headers in lost] == [b"key-0", b"key-1", b"key-2", b"key-3"]
    assert all(View.parse(headers["tamis-view"]).layout == 1 for _, headers in lost)
    missed = [Notification.decode(one.notification).offset for one, _ in later]
    assert missed + offsets(cluster, "ann") == [*range(6, sent)]
    assert offsets(cluster, "bob") == [*range(sent)]


def test_a_topic_that_was_deleted_is_made_again_by_nobody_who_comes_later(
    make_brokered: MakeCluster, admin: AdminClient
) -> None:
    cluster = make_brokered()
    subscribe_to_all(cluster, "ann", "bob")
    with running(cluster):
        publish(cluster, {"a": 0})
        assert len(delivered(cluster, "ann", "bob", count=2)) == 2
        delete_topic(admin, cluster, "ann")
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "bob", count=2)) == 2
    subscribe_to_all(cluster, "cid")
    with running(cluster):
        publish(cluster, {"a": 2})
        assert len(delivered(cluster, "bob", "cid", count=4)) == 4
    assert cluster.names.notifications("ann") not in admin.list_topics().topics
    told = [(one.subscriber, one.detail) for one, _ in undelivered(cluster)]
    assert told == [("ann", ""), ("ann", "it was deleted before")]


def test_a_topic_that_was_made_anew_with_fewer_partitions_gets_what_comes_from_then_on(
    make_brokered: MakeCluster, admin: AdminClient
) -> None:
    cluster = make_brokered(notifications=NotificationSettings(partitions=4))
    ann = cluster.names.notifications("ann")
    source = next(number for number in range(3) if outlet_partition(cluster.names.events, number, 4) > 0)
    subscribe_to_all(cluster, "ann", "bob")
    with running(cluster):
        publish(cluster, {"a": 0}, partition=source)
        assert cluster.is_done(SECONDS)
        delete_topic(admin, cluster, "ann")
        while ann in admin.list_topics().topics:
            time.sleep(0.05)
        admin.create_topics([NewTopic(ann, 1)])[ann].result()
        publish(cluster, *({"a": number} for number in range(1, 4)), partition=source)
        assert cluster.is_done(SECONDS)
    taken = [record.offset() for record in records(cluster.settings.kafka, [TopicPartition(ann, 0, BEGINNING)])]
    assert len(taken) + len(undelivered(cluster)) == 3
    assert taken


@pytest.mark.parametrize("format", list(NotificationFormat))
def test_a_topic_that_takes_little_gets_what_it_takes(
    make_brokered: MakeCluster, admin: AdminClient, format: NotificationFormat
) -> None:
    """However many come at once: the client's batches are kept as small as the topic wants them."""
    cluster = make_brokered(notifications=NotificationSettings(format=format))
    small = NewTopic(cluster.names.notifications("ann"), 1, config={"max.message.bytes": "4000"})
    admin.create_topics([small])[small.topic].result()
    cluster.subscribe(*(Subscription(name, "all", "exists text") for name in ("ann", "bob")))
    publish(cluster, *([{"text": noise(6000 if number % 5 == 0 else 900)} for number in range(30)]))
    with running(cluster):
        assert len(delivered(cluster, "bob", count=30)) == 30
        lost = undelivered(cluster)
    assert {(one.subscriber, one.reason) for one, _ in lost} == {("ann", "too_large")}
    assert [NotificationId.parse(headers["tamis-id"]).offset for _, headers in lost] == [*range(0, 30, 5)]
    with Reader(cluster.settings, [small.topic]) as reader:
        reader.wait_until_done()
        taken = [NotificationId.parse(each.header.encode()).offset for each in reader.delivered]
    assert taken == [number for number in range(30) if number % 5]


def test_what_is_too_large_for_the_undelivered_too_goes_without_its_event(
    make_brokered: MakeCluster, admin: AdminClient, unique: str
) -> None:
    wide = NewTopic(f"{unique[-12:]}.events", 4, config={"max.message.bytes": "8000000"})
    admin.create_topics([wide])[wide.topic].result()
    cluster = make_brokered()
    assert cluster.names.events == wide.topic
    subscribe_to_all(cluster, "ann", "bob")
    texts: dict[str, int | str] = {f"text{number}": noise(400_000 + number) for number in range(10)}
    event = Event("large", 0, {"a": 1, **texts})
    with running(cluster):
        client = producer(cluster.settings.kafka, properties={"message.max.bytes": 8_000_000})
        client.produce(cluster.names.events, event.encode(), None, 0)
        assert client.flush(SECONDS) == 0
        publish(cluster, {"a": 2})
        assert len(delivered(cluster, "ann", "bob", count=2)) == 2
        lost = undelivered(cluster)
    assert sorted((one.subscriber, one.reason, one.whole) for one, _ in lost) == [
        ("ann", "too_large", False),
        ("bob", "too_large", False),
    ]
    notification = Notification.decode(lost[0][0].notification)
    assert (notification.id, notification.event, [match.name for match in notification.matches]) == (
        "large",
        None,
        ["all"],
    )


def test_a_topic_with_a_rule_of_its_own_suspends_its_subscriber_only(
    make_brokered: MakeCluster, admin: AdminClient
) -> None:
    """A compacted topic takes nothing without a key."""
    cluster = make_brokered()
    odd = NewTopic(cluster.names.notifications("ann"), 1, config={"cleanup.policy": "compact"})
    admin.create_topics([odd])[odd.topic].result()
    subscribe_to_all(cluster, "ann", "bob")
    with running(cluster):
        cluster.send_event("first", a=1)
        assert len(delivered(cluster, "bob", count=1)) == 1
        ((one, headers),) = undelivered(cluster)
    assert (one.subscriber, one.reason) == ("ann", "topic_refused")
    assert KEY not in headers


def test_an_event_for_more_than_one_transaction_takes_goes_out_in_the_order_of_names(
    make_brokered: MakeCluster,
) -> None:
    cluster = make_brokered(broker=BrokerSettings(batch_topics=3))
    names = [f"s{number:02}" for number in range(20)]
    subscribe_to_all(cluster, *reversed(names))
    publish(cluster, {"a": 0}, {"a": 1}, partition=1)
    with running(cluster):
        seen = delivered(cluster, *names, count=40)
    assert len(seen) == 40
    assert {each.view for each in seen} == {seen[0].view}
    for name in names:
        assert offsets(cluster, name) == [0, 1]


def test_an_event_is_gone_on_with_behind_the_last_subscriber_that_was_told(
    make_brokered: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By whoever comes after a process that ended in the midst of it, and under the view of that time."""
    cluster = make_brokered(broker=BrokerSettings(batch_topics=2))
    names = [f"s{number:02}" for number in range(0, 40, 2)]
    cluster.make_notification_topics([f"s{number:02}" for number in range(41)])
    subscribe_to_all(cluster, *names)
    publish(cluster, {"a": 0})
    commits = rounds = 0
    real = Outbox.commit

    def commit(outbox: Outbox, *arguments: Any) -> bool:
        nonlocal commits
        commits += 1
        return real(outbox, *arguments)

    monkeypatch.setattr(Outbox, "commit", commit)
    while not cluster.is_done(0.0):
        rounds += 1
        enough = min(3 * rounds, 11)  # two of 21 subscribers each time
        serve(cluster.settings, 0, None, lambda: commits >= enough)  # noqa: B023 - it ends before the next one
        subscribe_to_all(cluster, "s01", "s39")  # one that the event has passed, and one that it has not
    assert rounds > 2
    assert [offsets(cluster, name) for name in (*names, "s39")] == [[0]] * 21
    assert offsets(cluster, "s01") == []
    records_told = [
        ViewRecord.decode(record.value() or b"")
        for record in records(cluster.settings.kafka, [TopicPartition(cluster.names.views, 0, BEGINNING)])
    ]
    assert [(told.first_offset, told.after) for told in records_told][:2] == [(0, ""), (0, names[5])]

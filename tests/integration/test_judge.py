"""The demo's judge finds out what is wrong, on records that no broker wrote."""

import time
from collections.abc import Callable
from dataclasses import replace

import pytest

from clusters import Cluster
from tamis.admin.demo.audience import Seen
from tamis.admin.demo.judge import Verdict, judged
from tamis.broker.kafka import AdminClient, NewTopic
from tamis.broker.partitions import partition_of
from tamis.codecs.event import Event
from tamis.codecs.notification import Match, Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Position, View, ViewRecord

MakeCluster = Callable[..., Cluster]
CHEAP = Subscription("ann", "cheap", "price < 50")
EVERYTHING = Subscription("ann", "everything", "exists price")
HOME = partition_of("ann", 4)


def view(offset: int) -> View:
    return View(1, [Position(number, offset if number == HOME else 0) for number in range(4)])


@pytest.fixture
def cluster(make_cluster: MakeCluster, admin: AdminClient) -> Cluster:
    """Prices 0, 10, ... 90. Of the first four ann wants cheap ones; of the next four everything too; then that only."""
    cluster = make_cluster()
    names = cluster.settings.names
    admin.create_topics([NewTopic(names.views, 1)])[names.views].result()
    for key, value in ((CHEAP.key, CHEAP.encode()), (EVERYTHING.key, EVERYTHING.encode()), (CHEAP.key, None)):
        cluster.write(names.subscriptions, value, key, HOME)
    for number in range(10):
        cluster.write(names.events, Event(str(number), 0, {"price": number * 10}).encode())
    for first, offset in ((0, 1), (4, 2), (8, 3)):
        record = ViewRecord(0, names.events, "y", 0, first, cluster.layout.rules, "x", view(offset))
        cluster.write(names.views, record.encode(), record.key)
    time.sleep(0.1)
    return cluster


def right(cluster: Cluster) -> list[Seen]:
    wanted = [
        *((offset, 1, ["cheap"]) for offset in range(4)),
        (4, 2, ["cheap", "everything"]),
        *((offset, 2, ["everything"]) for offset in range(5, 8)),
        *((offset, 3, ["everything"]) for offset in range(8, 10)),
    ]
    return [seen(cluster, offset, at, names) for offset, at, names in wanted]


def seen(cluster: Cluster, offset: int, at: int, names: list[str]) -> Seen:
    topic = cluster.settings.names.events
    told = Notification(str(offset), 0, topic, 0, offset, [Match(name) for name in names], b"")
    return Seen("ann", told.encode(), view(at).text)


def test_what_is_right_is_clean(cluster: Cluster) -> None:
    verdict = judged(cluster.settings, right(cluster))
    assert verdict == Verdict(10, 10, 10, lost=0, duplicated=0, wrong=0, disordered=0, views=3)
    assert verdict.is_clean
    assert str(verdict) == "10 events, 10 notifications expected, 10 delivered, 0 lost, 0 duplicated"


def test_what_is_wrong_is_found(cluster: Cluster) -> None:
    good = right(cluster)
    clean = judged(cluster.settings, good)

    def verdict(*delivered: Seen) -> Verdict:
        found = judged(cluster.settings, delivered)
        assert not found.is_clean
        return found

    assert verdict(*good[:3], *good[4:]) == replace(clean, delivered=9, lost=1)
    assert verdict(*good, good[3]) == replace(clean, delivered=11, duplicated=1)
    assert verdict(*good[:4], good[5], good[4], *good[6:]) == replace(clean, disordered=1)
    assert verdict(*good[:4], seen(cluster, 4, 2, ["cheap"]), *good[5:]) == replace(clean, wrong=1)
    assert verdict(*good[:4], seen(cluster, 4, 1, ["cheap", "everything"]), *good[5:]) == replace(clean, wrong=1)
    uncalled = replace(good[0], subscriber="ben")
    assert verdict(*good, uncalled) == replace(clean, delivered=11, wrong=1)


def test_an_event_that_nobody_matched_is_lost(make_cluster: MakeCluster, admin: AdminClient) -> None:
    cluster = make_cluster()
    names = cluster.settings.names
    admin.create_topics([NewTopic(names.views, 1)])[names.views].result()
    cluster.write(names.subscriptions, EVERYTHING.encode(), EVERYTHING.key, HOME)
    cluster.write(names.events, Event("0", 0, {"price": 1}).encode())
    assert judged(cluster.settings, []) == Verdict(1, 1, 0, lost=1, duplicated=0, wrong=0, disordered=0, views=1)

"""What judges broken brokers is itself held to records that no broker wrote; and what runs came to is kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from broker_cluster import Cluster, Seen
from chaos_results import CHAOS, Result, Trial, append, has, read, table
from oracle import examine
from tamis.admin.demo.audience import Seen as SeenAtDemo
from tamis.admin.demo.judge import judged
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker.partitions import partition_of
from tamis.codecs.headers import NotificationId
from tamis.codecs.notification import Match, Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Position, View, ViewRecord

SUBSCRIBERS = ("ann", "ben", "cid")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three events that everyone wants. The middle one was cut behind ann, and ben's wish is another one since then."""
    with (
        LocalStack(StackOptions(redis=False)) as stack,
        Cluster(stack.settings, "judge", tmp_path_factory.mktemp("c")) as made,
    ):
        made.subscribe(*(Subscription(name, "old", "exists a") for name in SUBSCRIBERS))
        made.subscribe(Subscription("ben", "new", "exists a"))
        for number in range(3):
            made.send_event(str(number), a=number)
        for first, after, view in ((0, "", views(made)[0]), (1, "ann", views(made)[1])):
            names = made.names
            record = ViewRecord(
                0,
                names.events,
                made.layout.topics[names.events],
                0,
                first,
                made.layout.rules,
                made.layout.topics[names.subscriptions],
                view,
                after,
            )
            made.send(names.views, record.encode(), record.key, 0)
        made.flush()
        yield made


def views(cluster: Cluster) -> tuple[View, View]:
    """Before and after the second wish of ben."""
    homes = [partition_of(name, cluster.layout.partitions) for name in SUBSCRIBERS]
    before = {number: homes.count(number) for number in range(cluster.layout.partitions)}
    after = before | {homes[1]: before[homes[1]] + 1}
    first, second = (View(1, [Position(*at) for at in ends.items()]) for ends in (before, after))
    return first, second


def right(cluster: Cluster) -> list[Seen]:
    old, new = views(cluster)
    wanted = [
        *(("old", name, 0, old) for name in SUBSCRIBERS),
        ("old", "ann", 1, old),
        ("old new", "ben", 1, new),
        ("old", "cid", 1, new),
        ("old", "ann", 2, new),
        ("old new", "ben", 2, new),
        ("old", "cid", 2, new),
    ]
    return [seen(cluster, *each) for each in wanted]


def seen(cluster: Cluster, names: str, subscriber: str, offset: int, view: View) -> Seen:
    topic = cluster.names.events
    told = Notification(str(offset), 0, topic, 0, offset, [Match(name) for name in names.split()], b"").encode()
    header = NotificationId(cluster.layout.topics[topic], 0, offset, subscriber).header.decode()
    return Seen(cluster.names.notifications(subscriber), subscriber, told, view.text, header, None, 0.0)


def test_an_event_that_was_cut_between_two_subscribers_has_two_views(cluster: Cluster) -> None:
    findings = examine(cluster, right(cluster))
    assert findings.is_clean, findings
    assert (findings.expected, findings.delivered, findings.splits, findings.views) == (9, 9, 1, 2)
    at_demo = judged(cluster.settings, [SeenAtDemo(each.subscriber, each.value, each.view) for each in right(cluster)])
    assert at_demo.is_clean
    assert (at_demo.expected, at_demo.views) == (9, 2)


def test_the_other_view_is_wrong(cluster: Cluster) -> None:
    good = right(cluster)
    old, new = views(cluster)
    for place, wrong in ((3, ("old", "ann", 1, new)), (4, ("old", "ben", 1, old)), (5, ("old", "cid", 1, old))):
        changed = [*good[:place], seen(cluster, *wrong), *good[place + 1 :]]
        findings = examine(cluster, changed)
        assert [each[0] for each in findings.misnamed] == [wrong[1]]
        assert not findings.is_clean
        told = [SeenAtDemo(each.subscriber, each.value, each.view) for each in changed]
        assert judged(cluster.settings, told).wrong == 1


def test_what_is_undelivered_counts_as_delivered_and_only_once(cluster: Cluster) -> None:
    good = right(cluster)
    good[4].is_undelivered, good[4].topic = True, cluster.names.undelivered
    findings = examine(cluster, good)
    assert findings.is_clean
    assert (findings.delivered, findings.undelivered) == (8, 1)
    assert examine(cluster, [*good, right(cluster)[4]]).doubled == [("ben", 0, 1)]
    assert examine(cluster, good[:4] + good[5:]).lost == [("ben", 0, 1)]
    assert examine(cluster, [*good[:-2], good[-1], good[-2]]).is_clean  # of two subscribers: there is no order
    first, second = good[0], good[3]  # both of ann
    assert examine(cluster, [second, first, *good[1:3], *good[4:]]).disordered == [("ann", 0, 0)]


def test_what_was_tried_is_not_tried_again(tmp_path: Path) -> None:
    file = tmp_path / "new" / "chaos.ndjson"
    trial = Trial(seed=3, seconds=60.0)
    assert not has(read(file), trial)
    append(file, Result.of(trial))
    assert has(read(file), trial)
    assert not has(read(file), Trial(seed=4, seconds=60.0))
    assert not has(read(file), Trial(seed=3, seconds=60.0, kafka_brokers=3))
    assert table(read(file)).count("\n") == 2


def test_a_run_counts_only_if_what_it_is_for_has_happened() -> None:
    result = Result(CHAOS, aborts=1, rebalances=1, kills_inside=1, pairs=1)
    result.judge()
    assert result.verdict == "clean"
    result.kills_inside = 0
    result.judge()
    assert result.verdict == "does not count: no kills inside"
    result.lost = 2
    result.judge()
    assert result.verdict == "2 lost"

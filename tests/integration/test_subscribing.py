"""Subscriptions written, read and taken back on a real Kafka, under a prefix of their own."""

import io
import json
from collections.abc import Callable

import pytest

from clusters import Cluster
from tamis.broker.errors import InvalidError, MissingError, UnreachableError
from tamis.broker.json_lines import WrongLine, numbered_lines
from tamis.broker.kafka import AdminClient
from tamis.broker.layouts import require_layout
from tamis.broker.line_report import LineReport, Listener
from tamis.broker.partitions import partition_of
from tamis.broker.subscribing import SubscriptionWriter, check_lines, new_subscription, subscribe_lines
from tamis.broker.subscription_list import Listed, State, subscriptions
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.subscription import Subscription, default_name
from tamis.indexes import Limits

MakeCluster = Callable[..., Cluster]


def lines_of(*rows: object) -> list[tuple[int, bytes]]:
    text = "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)
    return list(numbered_lines(io.BytesIO(text.encode())))


def subscribed(cluster: Cluster, *rows: object) -> tuple[LineReport, list[WrongLine]]:
    wrong: list[WrongLine] = []
    listener = Listener(wrong.append)
    return subscribe_lines(cluster.settings, cluster.layout, lines_of(*rows), listener), wrong


def listed(cluster: Cluster, subscriber: str | None = None) -> list[Listed]:
    return list(subscriptions(cluster.settings, cluster.layout, subscriber))


def test_many_lines_become_subscriptions_and_the_wrong_ones_are_told(
    make_cluster: MakeCluster, admin: AdminClient
) -> None:
    cluster = make_cluster()
    rows: list[object] = [
        {"subscriber": f"s{number % 7}", "name": f"n{number}", "expression": f"price < {number}"}
        for number in range(12_000)
    ]
    rows[5000] = {"subscriber": "s0", "expression": "price < "}
    rows[11_999] = "nonsense"
    report, wrong = subscribed(cluster, *rows)
    assert report == LineReport(lines=12_000, acknowledged=11_998, wrong=2)
    assert [one.line for one in wrong] == [5001, 12_000]
    found = listed(cluster)
    assert len(found) == 11_998
    assert {one.state for one in found} == {State.ACTIVE}
    assert all(one.partition == partition_of(one.subscriber, 4) for one in found)
    assert [one.name for one in listed(cluster, "s3")] == [f"n{number}" for number in range(3, 12_000, 7)]
    topics = admin.list_topics(timeout=10).topics
    assert all(cluster.settings.names.notifications(f"s{number}") in topics for number in range(7))


def test_a_dry_run_tells_the_same_and_writes_nothing(make_cluster: MakeCluster, admin: AdminClient) -> None:
    cluster = make_cluster()
    wrong: list[WrongLine] = []
    rows = lines_of({"subscriber": "ann", "expression": "a = 1"}, {"subscriber": "ann", "expression": "a ="})
    assert check_lines(cluster.settings, cluster.layout, rows, Listener(wrong.append)) == LineReport(2, 1, 1)
    assert [one.line for one in wrong] == [2]
    assert listed(cluster) == []
    assert cluster.settings.names.notifications("ann") not in admin.list_topics(timeout=10).topics


def test_where_no_topic_can_be_made_nobody_is_subscribed(
    make_cluster: MakeCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else matching events would be owed to a topic that is not there."""
    cluster = make_cluster()

    def refuse(*_: object) -> list[str]:
        raise UnreachableError("no topic today")

    monkeypatch.setattr("tamis.broker.subscribing.ensure_notification_topics", refuse)
    with pytest.raises(UnreachableError, match="no topic today"):
        subscribed(cluster, {"subscriber": "ann", "expression": "a = 1"})
    assert listed(cluster) == []


def test_subscribing_twice_is_one_subscription(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    subscribed(cluster, {"subscriber": "ann", "expression": "a=1"}, {"subscriber": "ann", "expression": "a  =  1"})
    assert [one.name for one in listed(cluster)] == [default_name("a = 1")]


def test_a_record_that_kafka_will_not_have_is_told_by_its_line(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    huge = {"subscriber": "ann", "name": "huge", "expression": "a = 1", "tags": {"t": "x" * 2_000_000}}
    report, wrong = subscribed(cluster, {"subscriber": "ann", "name": "n", "expression": "a = 1"}, huge)
    assert report == LineReport(2, 1, 1)
    assert [one.line for one in wrong] == [2]
    assert [one.name for one in listed(cluster)] == ["n"]


def test_a_paused_one_comes_back_as_it_was_and_a_removed_one_does_not(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    subscribed(
        cluster,
        {"subscriber": "ann", "name": "one", "expression": "a = 1", "tags": {"t": "v"}, "scores": True},
        {"subscriber": "ann", "name": "two", "expression": "a = 2"},
    )

    def change(act: Callable[[SubscriptionWriter, Listed], None]) -> list[Listed]:
        with SubscriptionWriter(cluster.settings, cluster.layout, lambda _line, reason: pytest.fail(reason)) as writer:
            act(writer, listed(cluster, "ann")[0])
            writer.wait()
        return listed(cluster, "ann")

    first = listed(cluster, "ann")[0].subscription
    paused = change(lambda writer, found: writer.pause(found, "too loud"))
    assert [(one.name, one.state, one.reason) for one in paused] == [
        ("two", State.ACTIVE, None),
        ("one", State.PAUSED, "too loud"),
    ]
    change(lambda writer, found: writer.remove(found))
    resumed = change(lambda writer, found: writer.pause(found, None))
    assert [(one.state, one.subscription) for one in resumed] == [(State.ACTIVE, first)]


def test_what_is_invalid_is_listed_with_its_reason_and_as_the_broker_has_it(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(limits=Limits(predicates=2))
    home = partition_of("ann", 4)
    good = Subscription("ann", "good", "a = 1")
    records: list[tuple[int, bytes | None, bytes | None]] = [
        (home, good.key, good.encode()),
        (home, b"ann/undecodable", b"x"),
        (home, b"ann/mismatch", good.encode()),
        (home, b"ann/expression", Subscription("ann", "expression", "a =").encode()),
        (home, b"ann/limit", Subscription("ann", "limit", "a = 1 and b = 2 and c = 3").encode()),
        (home, b"ann/gone", Subscription("ann", "gone", "a = 1").encode()),
        (home, b"ann/gone", None),
        (home, b"ann/replaced", Subscription("ann", "replaced", "a = 1").encode()),
        (home, b"ann/replaced", b"x"),
        (home, b"ann/paused", Subscription("ann", "paused", "a = 1", paused="why").encode()),
        (home, b"no key", b"x"),
        ((home + 1) % 4, good.key, good.encode()),
    ]
    for partition, key, value in records:
        cluster.write(cluster.settings.names.subscriptions, value, key, partition)
    found = listed(cluster)
    reasons = {(one.partition, one.key): (one.state, one.reason or "") for one in found}
    assert len(reasons) == len(found) == 9
    expected = {
        b"ann/good": (State.ACTIVE, ""),
        b"ann/undecodable": (State.INVALID, "begins with 78"),
        b"ann/mismatch": (State.INVALID, "the record is of b'ann/good'"),
        b"ann/expression": (State.INVALID, "column 4"),
        b"ann/limit": (State.INVALID, "too many predicates"),
        b"ann/replaced": (State.INVALID, "begins with 78"),
        b"ann/paused": (State.PAUSED, "why"),
        b"no key": (State.INVALID, "is not subscriber/name"),
    }
    for key, (state, reason) in expected.items():
        assert reasons[home, key][0] is state, key
        assert reason in reasons[home, key][1]
    assert reasons[(home + 1) % 4, b"ann/good"][0] is State.INVALID
    assert "belong to partition" in reasons[(home + 1) % 4, b"ann/good"][1]

    broker = SubscriptionState(cluster.layout, "scan")
    for partition in range(4):
        mine = [record for record in records if record[0] == partition]
        broker.apply(partition, [key for _, key, _ in mine], [value for _, _, value in mine])
    assert len(broker) == sum(one.state is State.ACTIVE for one in found)


def test_an_expression_beyond_the_layouts_limits_is_refused(make_cluster: MakeCluster) -> None:
    cluster = make_cluster(limits=Limits(predicates=1))
    assert new_subscription(cluster.layout, "ann", "a = 1").name == default_name("a = 1")
    with pytest.raises(InvalidError, match="too many predicates"):
        new_subscription(cluster.layout, "ann", "a = 1 and b = 2")
    with pytest.raises(InvalidError, match="a subscriber is 1 to 200"):
        new_subscription(cluster.layout, "a_b", "a = 1")


def test_without_a_layout_the_command_that_makes_one_is_named(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    nowhere = cluster.settings.model_copy(update={"prefix": "nowhere"})
    with pytest.raises(MissingError, match="tamis topics create"):
        require_layout(nowhere)


def test_a_kafka_that_is_not_there_is_told_in_time(make_cluster: MakeCluster) -> None:
    cluster = make_cluster()
    kafka = cluster.settings.kafka.model_copy(update={"bootstrap_servers": "127.0.0.1:1"})
    gone = cluster.settings.model_copy(update={"kafka": kafka})
    with pytest.raises(UnreachableError, match=r"127\.0\.0\.1:1"):
        list(subscriptions(gone, cluster.layout, seconds=1.0))

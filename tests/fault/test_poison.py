"""Messages that processes die of, or hang in: after some deaths they are rejected, and everything else is delivered."""

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, cast

import pytest

from broker_cluster import Cluster, Reader
from broker_process import POISON, Manner
from serving import running
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker import matching_step
from tamis.broker.attempts import Attempts
from tamis.broker.configuration import BrokerSettings
from tamis.broker.errors import InvalidError
from tamis.broker.kafka import TopicPartition, headers_of
from tamis.broker.message_batch import MessageBatch
from tamis.broker.partitions import partition_of
from tamis.broker.quarantine import WHY
from tamis.broker.reading import BEGINNING, records
from tamis.broker.rejected_retry import RetryReport, Wanted, retry
from tamis.broker.subscription_list import subscriptions
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.event import Event
from tamis.codecs.headers import Rejection
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

SECONDS = 90.0
EVENTS = 300


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(redis=False)) as stack:
        yield stack


def restarted_until(
    cluster: Cluster, manner: Manner, reader: Reader, count: int, place: tuple[str, int] = ("one", 0)
) -> int:
    """How often the process of a slot and shard died until so many notifications were there; it is started again."""
    deaths, (slot, shard) = 0, place
    deadline = time.monotonic() + SECONDS
    cluster.start(slot, shard, manner)
    while len(reader.seen) < count:
        assert time.monotonic() < deadline, f"{deaths} deaths, {len(reader.seen)} notifications"
        process: subprocess.Popen[bytes] = cluster.processes[slot]
        if process.poll() is not None:
            deaths += 1
            cluster.start(slot, shard, manner)
        time.sleep(0.05)
    return deaths


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("how", "deadly"), [("kill", {100, 200}), ("keep", {100})])
def test_a_message_that_processes_die_of_is_rejected_and_all_others_are_delivered(
    stack: LocalStack, tmp_path: Path, how: str, deadly: set[int]
) -> None:
    settings = stack.settings.model_copy(update={"broker": BrokerSettings(stall_seconds=2)})
    with Cluster(settings, f"poison-{how}", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        for number in range(EVENTS):
            attributes: dict[str, int | str] = {"a": number}
            if number in deadly:
                attributes["b"] = POISON.decode()
            event = Event(str(number), 0, attributes)
            cluster.send(cluster.names.events, event.encode(), None, number % 2)
        cluster.flush()
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            deaths = restarted_until(cluster, Manner(poison=how), reader, EVENTS - len(deadly))
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        got = sorted(int(Notification.decode(each.value).id) for each in reader.seen)
        assert got == [number for number in range(EVENTS) if number not in deadly]
        rejected = [value for _, _, _, value in cluster.content(cluster.names.rejected)]
        assert len(rejected) == len(deadly)
        assert all(POISON in (value or b"") for value in rejected), "as they came"
        assert 2 * len(deadly) <= deaths <= 4 * len(deadly), "of a batch, of a part of it, of it alone, and once more"


def test_a_message_that_takes_all_memory_is_rejected_after_some_ends(
    stack: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))

    def matched(state: Any, decoder: Any, batch: MessageBatch, *more: Any) -> Any:
        values = (value or b"" for part in batch.parts for value in cast("Sequence[bytes | None]", part.values))
        if any(POISON in value for value in values):
            raise MemoryError
        return matching_step.matched(state, decoder, batch, *more)

    monkeypatch.setattr("tamis.broker.worker.matched", matched)
    with Cluster(stack.settings, "poison-memory", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        for name in ("before", POISON.decode(), "after"):
            cluster.send_event(name, a=1)
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            for _ in range(3):  # with the others, alone, and once more
                with running(cluster, ends_by=InvalidError) as ended:
                    assert ended.wait(SECONDS)
            with running(cluster):
                assert reader.has(2, SECONDS)
                assert cluster.is_done(SECONDS)
        assert names_of(reader, "ann") == ["before", "after"]


@pytest.mark.timeout(300)
def test_what_only_one_shard_dies_of_is_told_by_it_and_can_be_sent_again(stack: LocalStack, tmp_path: Path) -> None:
    """The one of the two that tells of what neither of them understands."""
    with Cluster(stack.settings, "poison-shards", tmp_path, shards=2) as cluster:
        sturdy, frail = subscribers_of(cluster)
        cluster.make_notification_topics([sturdy, frail])
        cluster.subscribe(*(Subscription(name, "all", "exists a") for name in (sturdy, frail)))
        for name in ("before", POISON.decode(), "after"):
            cluster.send_event(name, a=1)
        with Reader(cluster.settings, [cluster.names.notifications(name) for name in (sturdy, frail)]) as reader:
            cluster.start("zero", 0)
            deaths = restarted_until(cluster, Manner(poison="kill"), reader, 5, ("one", 1))
            assert cluster.is_done(SECONDS, (0, 1))
            assert names_of(reader, sturdy) == ["before", "poison", "after"]
            assert names_of(reader, frail) == ["before", "after"]
            cluster.end_processes()
            report = RetryReport()
            retry(cluster.settings, Wanted(reasons=["poison"]), report, lambda _: None)
            assert report.sent.total() == 1
            for shard in range(2):
                cluster.start(f"healed-{shard}", shard)
            assert reader.has(7, SECONDS)
            assert names_of(reader, sturdy) == ["before", "poison", "after", "poison"]
            assert names_of(reader, frail) == ["before", "after", "poison"]
        details = [
            Rejection.parse(headers_of(record)).detail
            for record in records(cluster.settings.kafka, [TopicPartition(cluster.names.rejected, 0, BEGINNING)])
            if record.value() is not None
        ]
    assert [detail.endswith("in shard 1 of 2") for detail in details] == [True]
    assert 2 <= deaths <= 4


def subscribers_of(cluster: Cluster) -> list[str]:
    """One of each shard."""
    names = [f"s{number}" for number in range(100)]
    return [
        next(name for name in names if partition_of(name, cluster.layout.partitions) % 2 == shard) for shard in range(2)
    ]


def names_of(reader: Reader, subscriber: str) -> list[str]:
    return [Notification.decode(each.value).id for each in reader.seen if each.subscriber == subscriber]


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("manner", "left"),
    [
        (Manner(poison="hang"), WHY),
        (Manner(poison="kill"), WHY),
        (Manner(poison="kill", poison_paused=True), None),
    ],
    ids=["hangs", "kills", "kills though it is paused"],
)
def test_a_subscription_that_processes_die_of_is_paused_for_all_and_the_others_are_in_force(
    stack: LocalStack, tmp_path: Path, manner: Manner, left: str | None
) -> None:
    settings = stack.settings.model_copy(update={"broker": BrokerSettings(stall_seconds=2)})
    prefix = f"poison-{manner.poison}-{manner.poison_paused}".lower()
    with Cluster(settings, prefix, tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        wanted = [Subscription("ann", f"s{number}", "exists a") for number in range(EVENTS)]
        wanted[100] = Subscription("ann", "s100", f'b = "{POISON.decode()}" or exists a')
        cluster.subscribe(*wanted)
        cluster.send_event("before", a=1)
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            deaths = restarted_until(cluster, manner, reader, 1)
            cluster.send_event("after", a=2)
            cluster.processes["one"].terminate()
            deaths_of_another = restarted_until(cluster, manner, reader, 2, ("two", 0))
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        first, second = (Notification.decode(each.value) for each in reader.seen)
        assert (first.id, second.id) == ("before", "after")
        names = {f"s{number}" for number in range(EVENTS)} - {"s100"}
        assert {match.name for match in first.matches} == {match.name for match in second.matches} == names
        records = subscriptions(cluster.settings, cluster.layout)
        assert [one.reason for one in records if one.name == "s100"] == ([left] if left else [])
        rejected = [value or b"" for _, _, _, value in cluster.content(cluster.names.rejected)]
    assert len(rejected) == (1 if left else 2)
    assert all(POISON in value for value in rejected), "as they came"
    assert 4 <= deaths <= 8
    assert deaths_of_another <= deaths, "what it had to find out by itself"


def test_a_slot_that_died_of_too_many_subscriptions_to_be_true_stops_once_and_then_tries_them_again(
    stack: LocalStack, tmp_path: Path
) -> None:
    """It was memory, say, and there is more of it now."""
    with Cluster(stack.settings, "poison-many", tmp_path) as cluster:
        cluster.subscribe(*(Subscription("ann", f"s{number}", "exists a") for number in range(EVENTS)))
        partition = partition_of("ann", cluster.layout.partitions)

        def log() -> SubscriptionLog:
            found = SubscriptionLog(cluster.settings, cluster.layout, 0)
            found.attempts = Attempts("slot", cluster.layout.topics, tmp_path)
            return found

        def die_of(*offsets: int) -> None:
            for offset in (*offsets, *offsets):
                process = Attempts("slot", cluster.layout.topics, tmp_path)
                process.begin({(cluster.names.subscriptions, partition): (offset, offset)}, is_alone=True)

        die_of(*range(9))
        with closing(log()) as found, pytest.raises(InvalidError, match="more than 8 subscriptions within a day"):
            found.catch_up()
        with closing(log()) as found:
            found.catch_up()
            assert len(found.state) == EVENTS
        for count in (4, 8):
            die_of(*range(count - 3, count + 1))
            for _ in range(2):
                with closing(log()) as found:
                    found.catch_up()
                    assert len(found.state) == EVENTS - count, "they are paused, and stay so"
        die_of(9)
        with closing(log()) as found, pytest.raises(InvalidError, match="within a day"):
            found.catch_up()
        with closing(log()) as found:
            found.catch_up()
            assert len(found.state) == EVENTS - 8
        paused = [one.name for one in subscriptions(cluster.settings, cluster.layout) if one.reason]
        assert sorted(paused) == [f"s{number}" for number in range(1, 9)]

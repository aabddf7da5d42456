"""Broker processes under load while they are killed and frozen: nothing is lost, doubled, disordered or wrong.

A short form of `make chaos`, and brokers that lack a part, to show that this can fail. Nothing here counts on how fast
anything is: what is to happen is waited for.
"""

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from broker_cluster import Cluster, Reader
from broker_process import Manner
from chaos_director import PROCESS_KINDS, REDIS_KINDS, TOPIC_KINDS
from chaos_points import ABORTED, KILLED, OPEN, Faults
from chaos_results import Result, Trial
from chaos_run import Run
from oracle import examine
from processes import soon
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker.group_starts import apply, decide
from tamis.broker.kafka import TopicPartition, admin_client, consumer, producer
from tamis.broker.partitions import partition_of
from tamis.broker.positions import Position
from tamis.broker.snapshot_loading import store_of
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

PATIENCE_SECONDS = 90.0
KINDS = (*PROCESS_KINDS, *REDIS_KINDS, *TOPIC_KINDS)


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(properties=KILLED_KAFKAS)) as stack:
        yield stack


@pytest.mark.timeout(500)
def test_processes_that_are_killed_and_frozen_deliver_everything_once(stack: LocalStack, tmp_path: Path) -> None:
    trial = Trial(seconds=15.0, rate=150.0, processes=3)
    result = Result.of(trial)
    faults = Faults(abort_every=20, seconds=3.0)
    with Run(stack, trial, tmp_path, Manner(faults)) as run:
        told = run.cluster.told
        run.start()
        run.go_on(trial.seconds, kinds=KINDS)

        def is_enough() -> bool:
            has_killed = any(told(f"{KILLED} {at}") for at in OPEN)
            return has_killed and told(ABORTED) > 0 and told('"event": "revoked ') > 0 and len(run.load.gone) > 50

        run.go_on_until(is_enough, PATIENCE_SECONDS, KINDS)
        findings = run.finish(result)
    result.judge()
    print(result)
    assert result.verdict == "clean", findings
    assert run.director.stops == {}


@pytest.mark.timeout(300)
def test_processes_that_die_while_they_start_leave_nothing_wrong_behind(stack: LocalStack, tmp_path: Path) -> None:
    """No snapshot that claims more than was read, no place to start from that was never reached."""
    kinds = ("killed at start",)
    trial = Trial(seconds=5.0, rate=100.0, processes=1, shards=1, seed=3)
    result = Result.of(trial)
    with Run(stack, trial, tmp_path, Manner()) as run:
        run.start()
        run.go_on(trial.seconds, kinds=kinds)
        run.go_on_until(lambda: run.director.places["0-0"].begun > 8, PATIENCE_SECONDS, kinds)
        findings = run.finish(result)
    assert findings.is_clean, findings
    assert result.restored > 0, "every start was from the log"
    assert run.director.stops == {}


@pytest.mark.timeout(300)
def test_what_a_topic_does_not_take_for_a_while_is_kept_and_nothing_else(stack: LocalStack, tmp_path: Path) -> None:
    trial = Trial(seconds=10.0, rate=100.0, processes=2, shards=1, seed=4)
    result = Result.of(trial)
    with Run(stack, trial, tmp_path, Manner(Faults(abort_every=20))) as run:
        run.start()
        run.go_on(trial.seconds, kinds=TOPIC_KINDS)
        run.go_on_until(lambda: run.cluster.told("takes no more than") > 0, PATIENCE_SECONDS, TOPIC_KINDS)
        findings = run.finish(result)
    assert findings.is_clean, findings
    assert 0 < findings.undelivered < findings.delivered, findings
    assert run.director.stops == {}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("broken", ["rewind", "barrier", "transactions"])
def test_a_broker_that_lacks_a_part_is_found_out(stack: LocalStack, tmp_path: Path, broken: str) -> None:
    trial = Trial(rate=100.0, processes=2)
    result = Result.of(trial)
    with Run(stack, trial, tmp_path, Manner(Faults(abort_every=10), broken)) as run:
        run.start(on_a_whole_log=True)
        assert run.go_on_until(
            lambda: run.cluster.told(ABORTED) > 2 and len(run.load.gone) > 60 and len(run.reader.seen) > 100,
            PATIENCE_SECONDS,
        )
        run.finish(result, 10.0)
    found = {
        "rewind": result.lost > 0,
        "barrier": result.missed > 0 or result.stale > 0,
        "transactions": result.duplicated > 0,
    }
    assert found[broken], result


@pytest.mark.timeout(300)
@pytest.mark.parametrize("broken", ["", "start"])
def test_where_a_partition_begins_is_not_the_clients_choice(stack: LocalStack, tmp_path: Path, broken: str) -> None:
    with Cluster(stack.settings, f"start-{broken}", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        send_everywhere(cluster, 10)
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.start("one", manner=Manner(broken=broken))

            def has_begun() -> bool:
                send_everywhere(cluster, 1)
                return cluster.has_committed_all(seconds=1.0)

            assert soon(has_begun, PATIENCE_SECONDS)
            assert cluster.is_done(PATIENCE_SECONDS)
            reader.wait_until_done()
        findings = examine(cluster, reader.seen)
        assert findings.delivered > 0
        assert len(findings.lost) >= 40 if broken else findings.is_clean


@pytest.mark.timeout(300)
def test_partitions_that_move_while_a_transaction_has_offsets_of_them_begin_where_it_ends(
    stack: LocalStack, tmp_path: Path
) -> None:
    with Cluster(stack.settings, "pending", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.start("one")
            send_everywhere(cluster, 10)
            assert cluster.is_done(PATIENCE_SECONDS)
            cluster.processes["one"].terminate()
            cluster.processes["one"].wait()

            stranger = producer(cluster.settings.kafka, "stranger", {"transaction.timeout.ms": 200_000})
            stranger.init_transactions(PATIENCE_SECONDS)
            stranger.begin_transaction()
            group = consumer(cluster.settings.kafka, cluster.names.group(1, 0))
            places = [TopicPartition(cluster.names.events, partition) for partition in range(4)]
            committed = group.committed(places, PATIENCE_SECONDS)
            stranger.send_offsets_to_transaction(committed, group.consumer_group_metadata(), PATIENCE_SECONDS)
            for count, slot in enumerate(("two", "three"), 1):
                cluster.start(slot)
                assert soon(lambda count=count: members(cluster) == count, PATIENCE_SECONDS)  # type: ignore[misc]
            time.sleep(1.0)  # heartbeats, so that both know of each other
            assert cluster.told('"event": "assigned ', "t*.log") == 0
            stranger.abort_transaction(PATIENCE_SECONDS)
            group.close()
            send_everywhere(cluster, 1)
            assert soon(lambda: cluster.has_committed_all(seconds=1.0), PATIENCE_SECONDS)
            reader.wait_until_done()
        findings = examine(cluster, reader.seen)
        assert findings.is_clean, findings
        assert findings.delivered == 44


def send_everywhere(cluster: Cluster, count: int) -> None:
    """To each partition so many events."""
    for number in range(4 * count):
        cluster.send(cluster.names.events, Event(str(number), 0, {"a": number}).encode(), None, number % 4)
    cluster.flush()


def members(cluster: Cluster) -> int:
    group = cluster.names.group(cluster.layout.number, 0)
    admin = admin_client(cluster.settings.kafka)  # kept, since what it is asked would end with it
    return len(admin.describe_consumer_groups([group])[group].result().members)


@pytest.mark.timeout(300)
def test_a_kafka_that_was_killed_is_worked_with_when_it_is_back(stack: LocalStack, tmp_path: Path) -> None:
    """Its leaders have new epochs, and refuse whoever comes with the old ones."""
    with Cluster(stack.settings, "back", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.send_event("before", a=1)
            assert soon(lambda: len(reader.seen) == 1, PATIENCE_SECONDS)
            stack.brokers[0].kill()
            stack.brokers[0].start()
            stack.wait_until_ready()
            cluster.send_event("after", a=1)
            assert soon(lambda: len(reader.seen) == 2, PATIENCE_SECONDS)


def subscribed_one_by_one(cluster: Cluster) -> int:
    """One batch each, for the log to be cut between them; the partition that they are in."""
    cluster.make_notification_topics(["ann"])
    for number in range(10):
        cluster.subscribe(Subscription("ann", f"before-{number}", f"a = {number}"))
    return partition_of("ann", cluster.layout.partitions)


def snapshots_of(cluster: Cluster) -> list[str]:
    with closing(store_of(cluster.settings, cluster.layout, 0)) as store:
        return store.names()


def cut_back_and_grown(stack: LocalStack, cluster: Cluster, home: int) -> None:
    """The second half is gone, and there is more than before."""
    stack.cut_back(cluster.names.subscriptions, home, 5)
    cluster.renew_producer()
    cluster.subscribe(*(Subscription("ann", f"after-{number}", f"a = {number}") for number in range(20, 30)))


def require_what_is_left(cluster: Cluster, reader: Reader) -> None:
    """Behind a first event, what is lost matches no more, and what was kept or is new does."""
    for name, value in (("lost", 7), ("kept", 3), ("new", 25)):
        cluster.send_event(name, a=value)
    assert soon(lambda: len(reader.seen) >= 3, PATIENCE_SECONDS)
    assert cluster.is_done(PATIENCE_SECONDS)
    reader.wait_until_done()
    assert [Notification.decode(each.value).id for each in reader.seen] == ["first", "kept", "new"]


@pytest.mark.timeout(400)
def test_a_snapshot_of_a_log_that_was_cut_back_and_grew_again_is_not_believed(
    stack: LocalStack, tmp_path: Path
) -> None:
    with Cluster(stack.settings, "cut-snapshot", tmp_path) as cluster:
        home = subscribed_one_by_one(cluster)
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.send_event("first", a=7)
            assert soon(lambda: len(reader.seen) == 1, PATIENCE_SECONDS)
        cluster.processes["one"].terminate()
        assert cluster.processes["one"].wait(PATIENCE_SECONDS) == 0
        assert cluster.told("snapshot ") > 0, "it leaves one"
        cut_back_and_grown(stack, cluster, home)
        with closing(store_of(cluster.settings, cluster.layout, 0)) as store:
            view = store.generation(store.names()[0]).view
            assert {at.partition: at.offset for at in view.positions}[home] == 10
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            require_what_is_left(cluster, reader)
        assert cluster.told("is of a log that went backwards since") == 1


@pytest.mark.timeout(400)
def test_a_subscription_log_that_is_cut_back_is_noticed_though_it_has_grown_again(
    stack: LocalStack, tmp_path: Path
) -> None:
    with Cluster(stack.settings, "cut", tmp_path) as cluster:
        home = subscribed_one_by_one(cluster)
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            cluster.send_event("first", a=7)
            assert soon(lambda: len(reader.seen) == 1, PATIENCE_SECONDS)
            cluster.processes["one"].terminate()
            assert cluster.processes["one"].wait(PATIENCE_SECONDS) == 0
            before = snapshots_of(cluster)
            assert before
            cluster.start("one")
            assert soon(lambda: cluster.told("subscriptions from snapshot") == 1, PATIENCE_SECONDS)
            cluster.processes["one"].send_signal(signal.SIGSTOP)
            cut_back_and_grown(stack, cluster, home)
            cluster.processes["one"].send_signal(signal.SIGCONT)
            require_what_is_left(cluster, reader)
        assert cluster.told("went backwards, reading it again") > 0
        assert not set(before) & set(snapshots_of(cluster)), "those of the log as it was are gone"

        stack.cut_back(cluster.names.subscriptions, home, 5)
        assert soon(lambda: cluster.processes["one"].poll() is not None, PATIENCE_SECONDS)
        assert cluster.told("tamis topics set-start") > 0


@pytest.mark.timeout(300)
@pytest.mark.parametrize("meanwhile", ["stopped", "frozen"])
def test_an_event_log_that_is_cut_back_is_noticed_though_it_has_grown_again(
    stack: LocalStack, tmp_path: Path, meanwhile: str
) -> None:
    """Else the events that took the places of lost ones would count as matched."""
    with Cluster(stack.settings, f"cut-events-{meanwhile}", tmp_path) as cluster:
        cluster.make_notification_topics(["ann"])
        cluster.subscribe(Subscription("ann", "all", "exists a"))
        cluster.start("one")
        process = cluster.processes["one"]
        for number in range(10):
            cluster.send_event(f"before-{number}", a=number)  # one batch each, for the log to be cut between them
        assert cluster.is_done(PATIENCE_SECONDS)
        if meanwhile == "stopped":
            process.terminate()
            assert process.wait(PATIENCE_SECONDS) == 0
        else:
            process.send_signal(signal.SIGSTOP)
        stack.cut_back(cluster.names.events, 0, 5)
        cluster.renew_producer()
        for number in range(10):
            cluster.send_event(f"after-{number}", a=number)
        if meanwhile == "stopped":
            cluster.start("one")
            process = cluster.processes["one"]
        else:
            process.send_signal(signal.SIGCONT)
        assert soon(lambda: process.poll() is not None, PATIENCE_SECONDS)
        assert cluster.told("are gone that were not matched") > 0

        apply(cluster.settings, decide(cluster.settings, cluster.names.events, Position(5), [0]))
        cluster.start("one")
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:
            assert soon(lambda: len(reader.seen) == 20, PATIENCE_SECONDS)
            reader.wait_until_done()
            found = [Notification.decode(each.value).id for each in reader.seen]
        assert found == [*(f"before-{number}" for number in range(10)), *(f"after-{number}" for number in range(10))]

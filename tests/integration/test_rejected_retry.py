"""`tamis rejected retry`, on a real Kafka: each event once, whatever ends it on the way."""

import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from broker_cluster import Cluster
from commands import Command
from processes import soon
from serving import SECONDS, delivered, running
from tamis.broker import rejected_retry, settling
from tamis.broker.bundles import Bundles
from tamis.broker.configuration import EventTopicSettings, KafkaSettings
from tamis.broker.errors import ConflictError
from tamis.broker.kafka import TopicPartition, admin_client, headers_of, producer
from tamis.broker.positions import END, resolved
from tamis.broker.reading import BEGINNING, records
from tamis.broker.rejected_retry import RetryReport, Wanted, retry
from tamis.codecs.headers import RETRIED, Rejection
from tamis.codecs.messages import Framing
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription

COUNT = 20_000


@pytest.fixture
def cluster(make_brokered: Callable[..., Cluster]) -> Cluster:
    return make_brokered()


@pytest.fixture
def command(cluster: Cluster, tamis: Command, monkeypatch: pytest.MonkeyPatch) -> Command:
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    tamis.environment["TAMIS_PREFIX"] = cluster.settings.prefix
    return tamis


def rejected(cluster: Cluster, rejection: Rejection, *values: bytes | None) -> None:
    """As a broker would have written them."""
    client = producer(cluster.settings.kafka)
    for value in values:
        client.produce(cluster.names.rejected, value, b"key", headers=[*rejection.headers])
        client.poll(0)
    assert client.flush(SECONDS) == 0


def sent(settings: KafkaSettings, topic: str, partition: int = 0) -> list[bytes | None]:
    """The values of an event partition that were sent again."""
    found = records(settings, [TopicPartition(topic, partition, BEGINNING)])
    return [record.value() for record in found if RETRIED in dict(headers_of(record))]


def test_events_whose_format_was_wrong_are_matched_once_it_is_right(cluster: Cluster, command: Command) -> None:
    cluster.subscribe(Subscription("ann", "one", "exists a"), Subscription("ann", "wrong", "a = "))
    for number in range(3):
        cluster.send(cluster.names.events, b'{"a": %d}' % number, b"key", 2)
    cluster.flush()
    right = cluster.settings
    wrong = {cluster.names.events: EventTopicSettings(framing=Framing.SINGLE_OBJECT)}
    cluster.settings = right.model_copy(update={"events": wrong})
    with running(cluster):
        assert soon(lambda: len(command.rows("rejected", "tail", "--from", "start", "--to", "end")) == 4, SECONDS)
    cluster.settings = right
    dry = command.rows("rejected", "retry", "--dry-run", code=1)
    assert command.said.endswith("3 would be sent, 1 cannot be.\n")
    assert sent(right.kafka, cluster.names.events, 2) == []
    done = command.rows("rejected", "retry", "--yes", code=1)
    assert done == dry
    (events, subscriptions) = sorted(done, key=lambda row: int(row["left"]))
    assert (events["topic"], events["sent"], events["left"]) == (cluster.names.events, 3, 0)
    assert (subscriptions["sent"], subscriptions["why"]) == (0, {"it is no event: subscribe again": 1})
    # Before the transaction's marker is there, what comes next might come before it, and nobody commits a marker.
    assert soon(lambda: len(sent(right.kafka, cluster.names.events, 2)) == 3, SECONDS)
    cluster.send(cluster.names.events, b'{"a": 3}', b"key", 2)
    cluster.flush()
    with running(cluster):
        seen = [Notification.decode(each.value) for each in delivered(cluster, "ann", count=4)]
    assert [(one.partition, one.event) for one in seen] == [(2, b'{"a": %d}' % number) for number in range(4)]
    assert command.rows("rejected", "retry", "--yes", "--topic", cluster.names.events) == []
    assert command.said.endswith("Nothing waits.\n")
    assert len(command.rows("rejected", "tail", "--from", "start", "--to", "end")) == 4, "what settles is no rejection"


def test_what_is_still_not_understood_waits_as_another_one(cluster: Cluster, command: Command) -> None:
    cluster.send(cluster.names.events, b"rubbish", None, 0)
    cluster.flush()
    with running(cluster):
        for count in (1, 2, 3):

            def waiting(count: int = count) -> bool:
                return len(command.rows("rejected", "tail", "--from", "start", "--to", "end")) == count

            assert soon(waiting, SECONDS)
            (row,) = command.rows("rejected", "retry", "--yes")
            assert (row["reason"], row["sent"]) == ("unknown_framing", 1)


def test_only_what_is_wanted_and_can_be_sent_is_sent(cluster: Cluster, command: Command) -> None:
    events = cluster.names.events
    rejected(cluster, Rejection(events, 1, 0, "bad_syntax"), b"one", None)
    rejected(cluster, Rejection(events, 1, 2, "poison"), b"deadly")
    rejected(cluster, Rejection(events, 99, 0, "bad_syntax"), b"no such partition")
    rejected(cluster, Rejection("gone", 0, 0, "bad_syntax"), b"no such topic")
    rejected(cluster, Rejection(events, 1, 3, "too_deep"), b"two")
    assert command.rows("rejected", "retry", "--yes", "--reason", "truncated") == []
    (row,) = command.rows("rejected", "retry", "--yes", "--reason", "too_deep")
    assert (row["sent"], sent(cluster.settings.kafka, events, 1)) == (1, [b"two"])
    rows = command.rows("rejected", "retry", "--yes", code=1)
    assert [(row["topic"], row["sent"], row["left"]) for row in rows] == sorted([(events, 1, 2), ("gone", 0, 1)])
    assert sent(cluster.settings.kafka, events, 1) == [b"two", b"one"]
    command("rejected", "retry", "--yes", "--reason", "poison")
    assert sent(cluster.settings.kafka, events, 1) == [b"two", b"one", b"deadly"]


def test_what_several_shards_have_rejected_is_sent_once(cluster: Cluster, command: Command) -> None:
    events = cluster.names.events
    one, other = (Rejection(events, 1, 7, "poison", f"why; in shard {shard} of 2") for shard in range(2))
    for rejection in (one, other, Rejection(events, 1, 8, "poison")):
        rejected(cluster, rejection, b"%d" % rejection.offset)
    (row,) = command.rows("rejected", "retry", "--yes", "--reason", "poison")
    assert row["sent"] == 2
    assert sent(cluster.settings.kafka, events, 1) == [b"7", b"8"]
    rejected(cluster, Rejection(events, 1, 7, "unknown_schema"), b"7")
    assert command.rows("rejected", "retry", "--yes") == []
    assert command.said.startswith("1 that another shard had rejected, too")
    assert command.rows("rejected", "retry", "--yes") == []
    assert command.said == "Nothing waits.\n"
    waiting = settling.committed(cluster.settings.kafka, cluster.names.rejected, SECONDS)
    assert len(waiting.settled()) == 4
    assert sent(cluster.settings.kafka, events, 1) == [b"7", b"8"]
    rejected(cluster, other, b"another event, of the topic as it is since")
    (row,) = command.rows("rejected", "retry", "--yes", "--reason", "poison")
    assert row["sent"] == 1


def test_what_was_sent_is_known_wherever_it_stands(cluster: Cluster, command: Command) -> None:
    events = cluster.names.events
    rejected(cluster, Rejection(events, 1, 7, "truncated"), b"7")
    rejected(cluster, Rejection(events, 1, 7, "unknown_schema", "in shard 1 of 2"), b"7")
    (row,) = command.rows("rejected", "retry", "--yes", "--reason", "unknown_schema")
    assert row["sent"] == 1
    assert command.rows("rejected", "retry", "--yes") == []
    assert sent(cluster.settings.kafka, events, 1) == [b"7"]


def test_each_is_sent_once_though_it_is_killed_and_interrupted(
    cluster: Cluster, command: Command, tmp_path: Path
) -> None:
    values = [str(number).encode() for number in range(COUNT)]
    rejected(cluster, Rejection(cluster.names.events, 0, 0, "bad_syntax"), *values)
    admin = admin_client(cluster.settings.kafka)
    seen = [0]

    def end() -> int:
        """A transaction of events leaves a marker, too."""
        return resolved(admin, cluster.names.events, [0], END)[0]

    for number, code in ((signal.SIGKILL, -9), (signal.SIGINT, 130)):
        with command.process(tmp_path / "printed", "rejected", "retry", "--yes") as process:
            try:
                assert soon(lambda: end() > seen[-1])
                process.send_signal(number)
                process.communicate(timeout=SECONDS)
            finally:
                process.kill()
        assert process.returncode == code
        # A commit that it leaves to Kafka is done by then, and not when the next one has hardly begun.
        Bundles(cluster.settings.kafka, cluster.names.rejected)
        seen.append(end())
    assert len(sent(cluster.settings.kafka, cluster.names.events)) < COUNT, "it was ended too late"
    command("rejected", "retry", "--yes")
    assert sent(cluster.settings.kafka, cluster.names.events) == values


def test_of_two_at_once_the_earlier_one_ends(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    rejected(cluster, Rejection(cluster.names.events, 0, 0, "bad_syntax"), b"one", b"two")
    complete = settling.complete

    def while_another_is_done(*arguments: object) -> object:
        monkeypatch.setattr(rejected_retry, "complete", complete)
        found = complete(*arguments)  # type: ignore[arg-type]
        retry(cluster.settings, Wanted(), RetryReport(), lambda _: None)
        return found

    monkeypatch.setattr(rejected_retry, "complete", while_another_is_done)
    with pytest.raises(ConflictError, match="Somebody else has begun"):
        retry(cluster.settings, Wanted(), RetryReport(), lambda _: None)
    assert sent(cluster.settings.kafka, cluster.names.events) == [b"one", b"two"]

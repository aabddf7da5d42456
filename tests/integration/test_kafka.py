"""What Tamis builds on, proven on the Kafka of this test session."""

import gc
import sys
import time
from collections.abc import Callable, Iterator

import pytest

from tamis.broker.configuration import Settings
from tamis.broker.kafka import (
    AdminClient,
    Consumer,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    admin_client,
    consumer,
    end_offsets,
    producer,
)
from tamis.broker.topic_facts import topic_ids

MakeTopic = Callable[..., str]
SECONDS = 15.0


@pytest.fixture
def transactions(settings: Settings, unique: str) -> Producer:
    client = producer(settings.kafka, transactional_id=unique)
    client.init_transactions(SECONDS)
    return client


@pytest.fixture
def readers(settings: Settings, unique: str) -> Iterator[Callable[..., Consumer]]:
    """Makes readers of a topic's first partition, from its beginning to its end."""
    made: list[Consumer] = []

    def read(topic: str, **properties: str) -> Consumer:
        named = {name.replace("_", "."): value for name, value in properties.items()}
        made.append(consumer(settings.kafka, unique, {"enable.partition.eof": True, **named}))
        made[-1].assign([TopicPartition(topic, 0, 0)])
        return made[-1]

    yield read
    for client in made:
        client.close()


def to_the_end(reader: Consumer) -> list[bytes | None]:
    """The values up to what this reader may see now."""
    values: list[bytes | None] = []
    while True:
        message = next_message(reader)
        error = message.error()
        if error is not None:
            assert error.name() == "_PARTITION_EOF"
            return values
        values.append(message.value())


def next_message(reader: Consumer) -> Message:
    message = reader.poll(SECONDS)
    assert message is not None, "nothing came"
    return message


def test_an_aborted_transaction_is_seen_only_by_those_who_read_uncommitted(
    make_topic: MakeTopic, transactions: Producer, readers: Callable[..., Consumer]
) -> None:
    topic = make_topic()
    for value, finish in [(b"aborted", transactions.abort_transaction), (b"kept", transactions.commit_transaction)]:
        transactions.begin_transaction()
        transactions.produce(topic, value)
        transactions.flush(SECONDS)
        finish(SECONDS)
    assert to_the_end(readers(topic)) == [b"kept"]
    assert to_the_end(readers(topic, isolation_level="read_uncommitted")) == [b"aborted", b"kept"]


def test_an_open_transaction_hides_what_follows_it(
    settings: Settings, make_topic: MakeTopic, transactions: Producer, readers: Callable[..., Consumer]
) -> None:
    topic = make_topic()
    transactions.begin_transaction()
    transactions.produce(topic, b"open")
    transactions.flush(SECONDS)
    plain = producer(settings.kafka)
    plain.produce(topic, b"after")
    assert plain.flush(SECONDS) == 0
    reader = readers(topic)
    assert to_the_end(reader) == []
    transactions.commit_transaction(SECONDS)
    assert [next_message(reader).value() for _ in range(2)] == [b"open", b"after"]


def test_output_and_position_are_committed_together_or_not_at_all(
    settings: Settings, make_topic: MakeTopic, transactions: Producer, readers: Callable[..., Consumer], unique: str
) -> None:
    source, target = make_topic(), make_topic()
    first = TopicPartition(source, 0, 0)
    plain = producer(settings.kafka)
    plain.produce(source, b"event")
    assert plain.flush(SECONDS) == 0
    worker = consumer(settings.kafka, unique)

    def copy_one() -> None:
        message = next_message(worker)
        assert message.error() is None
        transactions.begin_transaction()
        transactions.produce(target, message.value())
        offset = message.offset()
        assert offset is not None
        position = TopicPartition(source, 0, offset + 1)
        transactions.send_offsets_to_transaction([position], worker.consumer_group_metadata(), SECONDS)
        transactions.flush(SECONDS)

    try:
        worker.subscribe([source], on_assign=from_the_beginning)
        copy_one()
        transactions.abort_transaction(SECONDS)
        assert worker.committed([first], SECONDS)[0].offset < 0
        worker.seek(first)
        copy_one()
        transactions.commit_transaction(SECONDS)
        assert worker.committed([first], SECONDS)[0].offset == 1
    finally:
        worker.close()
    assert to_the_end(readers(target)) == [b"event"]


def from_the_beginning(client: Consumer, partitions: list[TopicPartition]) -> None:
    for partition in partitions:
        partition.offset = 0
    client.incremental_assign(partitions)


def test_a_second_producer_of_one_transactional_id_fences_the_first(
    settings: Settings, make_topic: MakeTopic, transactions: Producer, unique: str
) -> None:
    topic = make_topic()
    producer(settings.kafka, transactional_id=unique).init_transactions(SECONDS)
    transactions.begin_transaction()
    transactions.produce(topic, b"zombie")
    with pytest.raises(KafkaException) as caught:
        transactions.commit_transaction(SECONDS)
    assert caught.value.args[0].fatal()


def test_where_to_start_is_never_the_clients_choice(settings: Settings, make_topic: MakeTopic, unique: str) -> None:
    """`auto.offset.reset` is `error`: a group without offsets is told so, instead of skipping or repeating events."""
    client = consumer(settings.kafka, unique)
    try:
        client.subscribe([make_topic()])
        error = next_message(client).error()
        assert error is not None
        assert error.name() == "_AUTO_OFFSET_RESET"
    finally:
        client.close()


def test_two_members_of_a_group_share_its_partitions_and_one_takes_over(
    settings: Settings, make_topic: MakeTopic, admin: AdminClient, unique: str
) -> None:
    topic = make_topic(partitions=4)
    members = [consumer(settings.kafka, unique) for _ in range(2)]
    try:
        for member in members:
            member.subscribe([topic], on_assign=from_the_beginning)
        poll_until(members, lambda: [len(member.assignment()) for member in members] == [2, 2])
        owned = {partition.partition for member in members for partition in member.assignment()}
        assert owned == {0, 1, 2, 3}
        group = admin.describe_consumer_groups([unique])[unique].result()
        assert group.type.name == "CONSUMER", "the protocol of KIP-848"
        members.pop().close()
        poll_until(members, lambda: len(members[0].assignment()) == 4)
    finally:
        for member in members:
            member.close()


def poll_until(members: list[Consumer], condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30.0
    while not condition():
        assert time.monotonic() < deadline, [member.assignment() for member in members]
        for member in members:
            member.poll(0.05)


def test_a_compacted_topic_keeps_the_last_record_of_each_key(
    settings: Settings, make_topic: MakeTopic, readers: Callable[..., Consumer]
) -> None:
    topic = make_topic(
        cleanup_policy="compact",
        segment_ms="100",
        min_cleanable_dirty_ratio="0.01",
        min_compaction_lag_ms="0",
        delete_retention_ms="0",
        message_timestamp_type="LogAppendTime",
    )
    plain = producer(settings.kafka)
    deadline = time.monotonic() + 30.0
    values: list[bytes | None] = []
    for round_ in range(3):
        for key in ("a", "b", "c"):
            plain.produce(topic, key=key, value=f"{key}{round_}")
    plain.produce(topic, key="b", value=None)
    while values[:2] != [b"a2", b"c2"]:
        assert time.monotonic() < deadline, values
        plain.produce(topic, key="tick", value="x")  # the segment in use is never compacted: a record rolls it
        assert plain.flush(SECONDS) == 0
        time.sleep(0.3)
        values = to_the_end(readers(topic))


def test_the_settings_of_a_compacted_topic_are_kept_as_given(make_topic: MakeTopic, admin: AdminClient) -> None:
    from confluent_kafka.admin import ConfigResource, ResourceType

    given = {
        "cleanup.policy": "compact",
        "message.timestamp.type": "LogAppendTime",
        "min.compaction.lag.ms": "604800000",
        "delete.retention.ms": "604800000",
        "unclean.leader.election.enable": "false",
    }
    topic = make_topic(partitions=16, **{key.replace(".", "_"): value for key, value in given.items()})
    resource = ConfigResource(ResourceType.TOPIC, topic)
    found = admin.describe_configs([resource])[resource].result()
    assert {key: found[key].value for key in given} == given
    assert len(admin.list_topics(topic, timeout=SECONDS).topics[topic].partitions) == 16


def test_a_topic_that_nobody_made_is_not_made_by_a_typing_error(
    settings: Settings, admin: AdminClient, unique: str
) -> None:
    plain = producer(settings.kafka, properties={"message.timeout.ms": 1000})
    delivered: list[bool] = []
    plain.produce(unique, b"x", on_delivery=lambda error, _message: delivered.append(error is None))
    plain.flush(SECONDS)
    assert delivered == [False]
    assert unique not in admin.list_topics(timeout=SECONDS).topics


def test_a_new_client_tells_the_ends_of_a_topic_at_once(settings: Settings, make_topic: MakeTopic, unique: str) -> None:
    """A bare one takes 3 s about every fifth time."""
    topic = make_topic(partitions=16)
    time.sleep(1.0)  # a broker may not know yet that it leads a topic that was made just now
    slow = 0
    for _ in range(20):
        admin, reader = admin_client(settings.kafka), consumer(settings.kafka, unique)
        reader.assign([TopicPartition(topic, partition, 0) for partition in range(16)])
        began = time.monotonic()
        assert end_offsets(admin, topic, range(16)) == dict.fromkeys(range(16), 0)
        slow += time.monotonic() - began > 2.0
        reader.close()
    assert slow == 0


def test_topics_that_are_described_again_and_again_leave_nothing(settings: Settings, make_topic: MakeTopic) -> None:
    topic, client = make_topic(), admin_client(settings.kafka)

    def left(times: int) -> int:
        gc.collect()
        before = sys.getallocatedblocks()
        for _ in range(times):
            assert list(topic_ids(client, [topic], SECONDS)) == [topic]
        gc.collect()
        return sys.getallocatedblocks() - before

    left(100)
    assert min(left(1000) for _ in range(3)) < 500

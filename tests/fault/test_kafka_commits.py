"""What exactly-once delivery rests on: a commit that Kafka acknowledged holds, whatever has just become of a partition.

Not every Kafka keeps that (`docs/decisions/008-which-kafka.md`): whoever changes the version learns it here.
"""

from collections.abc import Iterator
from contextlib import suppress

import pytest

from processes import soon
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack
from tamis.admin.local.stack import StackOptions
from tamis.broker.kafka import KafkaException, NewTopic, TopicPartition, admin_client, producer
from tamis.broker.reading import BEGINNING, records

SECONDS = 60.0
ANSWER_SECONDS = 5.0
NOBODY = -1


@pytest.fixture
def stack() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(brokers=3, properties=KILLED_KAFKAS)) as stack:
        yield stack


@pytest.mark.timeout(300)
def test_what_was_committed_while_a_partition_had_no_leader_is_there_when_it_has_one(stack: LocalStack) -> None:
    settings = stack.settings.kafka
    admin = admin_client(settings)

    def leader(topic: str) -> int | None:
        """None where there is no answer: a question may be on its way to the server that is killed."""
        with suppress(KafkaException):
            return int(admin.list_topics(timeout=ANSWER_SECONDS).topics[topic].partitions[0].leader)
        return None

    def committed() -> list[bytes | None]:
        return [record.value() for record in records(settings, [TopicPartition("alone", 0, BEGINNING)])]

    lost = next(each for each in stack.brokers if each.node.number != leader("__transaction_state"))
    alone = NewTopic("alone", 1, replica_assignment=[[lost.node.number]])
    admin.create_topics([alone])["alone"].result()
    client = producer(settings, "name")
    client.init_transactions(SECONDS)

    client.begin_transaction()
    client.produce("alone", b"kept", partition=0)
    assert client.flush(SECONDS) == 0
    lost.kill()
    assert soon(lambda: leader("alone") == NOBODY, SECONDS)
    client.commit_transaction(SECONDS)
    lost.start()
    assert soon(lambda: leader("alone") == lost.node.number, SECONDS)
    assert soon(lambda: committed() == [b"kept"], SECONDS)

    client.begin_transaction()
    client.produce("alone", b"dropped", partition=0)
    assert client.flush(SECONDS) == 0
    client.abort_transaction(SECONDS)
    assert committed() == [b"kept"]

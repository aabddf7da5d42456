"""What there is to beat: the same client's transactional loop, with the same settings, batches, bytes and counts."""

import time
from collections.abc import Callable, Sequence

from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import Message, TopicPartition, consumer, producer

_HEADERS: list[tuple[str, str | bytes | None]] = [
    ("tamis-id", b"1/AAAAAAAAAAAAAAAAAAAAAA/0/100000/subscriber-0"),
    ("tamis-view", b"1;1;" + b"0:65000:0," * 16),
]
_PREFIX = b"\xc3\x01" + bytes(70)
"""About what a notification has before its event."""


def copy(  # noqa: PLR0913, PLR0917 - all that differs between two loops
    settings: KafkaSettings,
    name: str,
    source: str,
    targets: Sequence[str],
    batch: int,
    must_stop: Callable[[int], bool],
) -> int:
    """Copy each message to one of the targets, in transactions, until told to stop; how many messages that was."""
    client = consumer(settings, name)
    out = producer(settings, name)
    out.init_transactions(10)
    starts: list[TopicPartition] = []

    def assigned(_client: object, partitions: list[TopicPartition]) -> None:
        for place in partitions:
            place.offset = 0
        starts.extend(partitions)
        client.incremental_assign(partitions)

    client.subscribe([source], on_assign=assigned)
    done = 0
    committed_at = 0.0
    while not must_stop(done):
        first = client.poll(0.2)
        if first is None:
            continue
        pause = committed_at + 0.003 - time.monotonic()
        messages: list[Message] = [first, *client.consume(batch - 1, max(pause, 0))]
        out.begin_transaction()
        ends: dict[int, int] = {}
        for message in messages:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            ends[partition] = offset + 1
            target = targets[(done + offset) % len(targets)]
            while True:
                try:
                    out.produce(target, _PREFIX + (message.value() or b""), message.key(), 0, headers=_HEADERS)
                    break
                except BufferError:
                    out.poll(0.01)
        offsets = [TopicPartition(source, partition, end) for partition, end in ends.items()]
        out.send_offsets_to_transaction(offsets, client.consumer_group_metadata(), 10)
        out.commit_transaction(10)
        committed_at = time.monotonic()
        done += len(messages)
    client.close()
    return done

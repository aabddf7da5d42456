"""Notifications of the past, sent to one topic: some at a time, each time all of them or none.

Whoever publishes to a topic does it under that topic's transactional id: of two at once the earlier one is ended.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, ConflictError, InvalidError, MissingError, UnreachableError
from tamis.broker.interrupts import interrupts_deferred
from tamis.broker.json_lines import in_batches
from tamis.broker.kafka import FENCED, KafkaException, Producer, called, producer
from tamis.broker.partitions import outlet_partition
from tamis.broker.reading import partitions_of
from tamis.broker.transactions import RebuildError, begin_transactions, transact
from tamis.codecs.headers import ID

REPLAYED = "tamis-replayed"
"""A header that tells what was published so from what a broker sent: when that was, in milliseconds since 1970."""
_AT_ONCE = 5_000
_TRIES = 3
_CALL_SECONDS = 10.0
_ROOM_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Replayed:
    """A notification, and which event partition it is of."""

    topic: str
    partition: int
    key: bytes | None
    id: bytes
    value: bytes


def require_target(settings: Settings, topic: str, events: Iterable[str], seconds: float = 10.0) -> int:
    """How many partitions it has. InvalidError if what is published there would be taken for something else."""
    if topic in settings.names.own or topic in set(events):
        raise InvalidError(f"{topic} is a topic that brokers read or write: publish to another one.")
    try:
        return len(partitions_of(settings.kafka, topic, seconds))
    except MissingError as error:
        raise MissingError(f"{error} Make it first: what is published should outlive no default.") from error


def republish(
    settings: Settings, topic: str, partitions: int, notifications: Iterable[Replayed], progress: Callable[[int], None]
) -> int:
    """How many were sent: those of one event partition in their order, to one partition.

    When this raises, `progress` has been told of all that are there.
    """
    client = producer(settings.kafka, f"{settings.prefix}.replay.{topic}")
    begin_transactions(client, _CALL_SECONDS)
    now = str(time.time_ns() // 1_000_000).encode()
    sent = 0
    for some in in_batches(notifications, _AT_ONCE):
        with interrupts_deferred():
            _send(client, topic, partitions, some, now)
            sent += len(some)
            progress(len(some))
    return sent


def _send(client: Producer, topic: str, partitions: int, some: Sequence[Replayed], now: bytes) -> None:
    for _ in range(_TRIES):
        try:
            if _is_sent(client, topic, partitions, some, now):
                return
        except RebuildError as error:
            if error.error is not None and error.error.code() in FENCED:
                raise ConflictError(f"Somebody else has begun to publish to {topic}, and goes on with it.") from error
            raise UnreachableError(
                f"Whether the last {len(some)} notifications are in {topic} is not known: {error}. Their header {ID} "
                "tells which they are."
            ) from error
    raise UnreachableError(f"Kafka takes no notifications for {topic}: transactions are aborted again and again.")


def _is_sent(client: Producer, topic: str, partitions: int, some: Sequence[Replayed], now: bytes) -> bool:
    transact(client.begin_transaction)
    try:
        for one in some:
            partition = outlet_partition(one.topic, one.partition, partitions)
            headers: list[tuple[str, str | bytes | None]] = [(ID, one.id), (REPLAYED, now)]
            _produce(client, topic, partition, one, headers)
        done = transact(client.commit_transaction, _CALL_SECONDS)
    except BaseException:  # a second Ctrl-C too: what stays open would hide what others write to the topic
        with suppress(KafkaException, RebuildError, BrokerError):
            client.abort_transaction(_CALL_SECONDS)
        raise
    if not done:
        transact(client.abort_transaction, _CALL_SECONDS)
    return done


def _produce(
    client: Producer, topic: str, partition: int, one: Replayed, headers: list[tuple[str, str | bytes | None]]
) -> None:
    while True:
        try:
            client.produce(topic, one.value, one.key, partition, headers=headers)
        except BufferError:
            called(client.poll, _ROOM_SECONDS)
        else:
            return

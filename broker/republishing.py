"""Notifications of the past, sent to one topic: some at a time, each time all of them or none.

Whoever publishes to a topic does it under that topic's transactional id: of two at once the earlier one is ended.
"""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from tamis.broker.bundles import Bundles, Record, bundled
from tamis.broker.configuration import Settings
from tamis.broker.errors import InvalidError, MissingError, UnreachableError
from tamis.broker.interrupts import interrupts_deferred
from tamis.broker.partitions import outlet_partition
from tamis.broker.reading import partitions_of
from tamis.codecs.headers import ID

REPLAYED = "tamis-replayed"
"""A header that tells what was published so from what a broker sent: when that was, in milliseconds since 1970."""
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Replayed:
    """A notification, and which event partition it is of."""

    topic: str
    partition: int
    key: bytes | None
    id: bytes
    value: bytes

    @property
    def size(self) -> int:
        return len(self.value) + len(self.key or b"")


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
    bundles = Bundles(settings.kafka, f"{settings.prefix}.replay.{topic}")
    now = str(time.time_ns() // 1_000_000).encode()
    sent = 0
    for some in bundled(notifications, _AT_ONCE, lambda one: one.size):
        records = [
            Record(
                topic,
                outlet_partition(one.topic, one.partition, partitions),
                one.key,
                one.value,
                {ID: one.id, REPLAYED: now},
            )
            for one in some
        ]
        with interrupts_deferred():
            try:
                bundles.send(records)
            except UnreachableError as error:
                error.add_note(f"The header {ID} tells which notifications are in {topic}.")
                raise
            sent += len(some)
            progress(len(some))
    return sent

"""Topics of what waits for a human: a later record says of an earlier one that it does not wait any more.

Such a record has no value, and the header `tamis-settled` with the earlier one's place. It is written in the
transaction that sends what waited, and an open transaction hides what others committed behind it: who must not miss
that (`complete`) waits until there is none.
"""

import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import ConflictError, MissingError
from tamis.broker.kafka import AdminClient, Message, admin_client, end_offsets, headers_of, offset_of, place_of
from tamis.broker.positions import END, START, resolved
from tamis.broker.reading import partitions_known_to
from tamis.broker.tailing import between
from tamis.codecs.errors import RecordError
from tamis.codecs.headers import SETTLED, WaitingPlace

_OPEN_SECONDS = 40.0
"""Kafka ends the transaction of a process that died after ten seconds, and looks for such every ten."""
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of each partition, from one to another (exclusive): the same records, however often they are read."""

    settings: KafkaSettings
    topic: str
    starts: Mapping[int, int]
    ends: Mapping[int, int]

    def messages(self, seconds: float | None = None) -> Iterator[list[Message]]:
        """Committed ones, some at a time; of a partition in its order."""
        yield from between(self.settings, self.topic, self.starts, self.ends, seconds)

    def settled(self) -> set[WaitingPlace]:
        """The places of those that do not wait any more."""
        found = (settled_by(message) for messages in self.messages() for message in messages)
        return {place for place in found if place is not None}


def committed(settings: KafkaSettings, topic: str, seconds: float = 10.0) -> Stretch:
    """All that is committed just now, but for what open transactions hide. MissingError if there is no such topic."""
    admin = admin_client(settings)
    partitions = _partitions(admin, settings, topic, seconds)
    starts, ends = (resolved(admin, topic, partitions, place, seconds) for place in (START, END))
    return Stretch(settings, topic, starts, ends)


def complete(settings: KafkaSettings, topic: str, seconds: float = _OPEN_SECONDS) -> Stretch:
    """All that was committed before this was asked for. ConflictError if something stays open in it for so long."""
    admin = admin_client(settings)
    partitions = _partitions(admin, settings, topic)
    starts, ends = resolved(admin, topic, partitions, START), end_offsets(admin, topic, partitions)
    deadline = time.monotonic() + seconds
    while any(readable < ends[number] for number, readable in resolved(admin, topic, partitions, END).items()):
        if time.monotonic() > deadline:
            raise ConflictError(
                f"A transaction has been open in {topic} for {seconds:g} s, and hides what was written behind it. "
                "Kafka ends it when its time is over: try again then."
            )
        time.sleep(_PAUSE_SECONDS)
    return Stretch(settings, topic, starts, ends)


def settled_by(message: Message) -> WaitingPlace | None:
    """The place of which this record says that it does not wait any more."""
    if message.value() is not None:
        return None
    header = dict(headers_of(message)).get(SETTLED)
    try:
        return None if header is None else WaitingPlace.parse(SETTLED, header)
    except RecordError:
        return None  # whoever reads it as what waits tells of it


def place_among(message: Message) -> WaitingPlace:
    return WaitingPlace(place_of(message)[1], offset_of(message))


def _partitions(admin: AdminClient, settings: KafkaSettings, topic: str, seconds: float = 10.0) -> list[int]:
    try:
        return partitions_known_to(admin, settings, topic, seconds)
    except MissingError as error:
        raise MissingError(f"{error} Make it: tamis topics create") from error

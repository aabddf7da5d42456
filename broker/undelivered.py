"""Notifications that their topics could not take, as `tamis.undelivered` has them: which of them wait.

A record is a notification that could not be sent; or, with the header `tamis-settled` and no value, it says of an
earlier one that it was sent after all. Both are written in transactions, and an open one hides what others committed
behind it: who must not miss that (`complete`) waits until there is none.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, MissingError, UnreachableError
from tamis.broker.kafka import AdminClient, Message, admin_client, end_offsets, headers_of, offset_of, place_of
from tamis.broker.positions import END, START, resolved
from tamis.broker.reading import partitions_known_to
from tamis.broker.tailing import Extent, between, tail
from tamis.codecs.errors import RecordError
from tamis.codecs.headers import SETTLED, UndeliveredPlace
from tamis.codecs.subscription import check_subscriber
from tamis.codecs.undelivered import Obstacle, Undelivered

_LOG = logging.getLogger(__name__)
_OPEN_SECONDS = 40.0
"""Kafka ends the transaction of a process that died after ten seconds, and looks for such every ten."""
_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class ReceivedUndelivered:
    """A record of the topic that settles none."""

    place: UndeliveredPlace
    timestamp: int
    """Kafka's, in milliseconds."""
    headers: Mapping[str, bytes]
    subscriber: str
    """By the record's key."""
    undelivered: Undelivered | None
    problem: str | None
    """Why that is None."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """Offsets of each partition, from one to another (exclusive): the same records, however often they are read."""

    settings: Settings
    starts: Mapping[int, int]
    ends: Mapping[int, int]

    def messages(self, seconds: float | None = None) -> Iterator[list[Message]]:
        """Committed ones, some at a time; of a partition in its order."""
        yield from between(self.settings.kafka, self.settings.names.undelivered, self.starts, self.ends, seconds)

    def settled(self) -> set[UndeliveredPlace]:
        """The places of those that were sent after all."""
        found = (settled_by(message) for messages in self.messages() for message in messages)
        return {place for place in found if place is not None}

    def waiting(
        self, settled: Collection[UndeliveredPlace], subscribers: Collection[str] = ()
    ) -> Iterator[list[ReceivedUndelivered]]:
        """Those that are not settled; only of some subscribers, if any are named."""
        for messages in self.messages():
            some = (m for m in messages if place_among(m) not in settled and _is_of(m, subscribers))
            yield [received for received in map(received_of, some) if received is not None]


def committed(settings: Settings, seconds: float = 10.0) -> Stretch:
    """All that is committed just now, but for what open transactions hide. MissingError if there is no such topic."""
    admin, topic = admin_client(settings.kafka), settings.names.undelivered
    partitions = _partitions(admin, settings, seconds)
    starts, ends = (resolved(admin, topic, partitions, place, seconds) for place in (START, END))
    return Stretch(settings, starts, ends)


def complete(settings: Settings, seconds: float = _OPEN_SECONDS) -> Stretch:
    """All that was committed before this was asked for. ConflictError if something stays open in it for so long."""
    admin, topic = admin_client(settings.kafka), settings.names.undelivered
    partitions = _partitions(admin, settings)
    starts, ends = resolved(admin, topic, partitions, START), end_offsets(admin, topic, partitions)
    deadline = time.monotonic() + seconds
    while any(readable < ends[number] for number, readable in resolved(admin, topic, partitions, END).items()):
        if time.monotonic() > deadline:
            raise ConflictError(
                f"A transaction has been open in {topic} for {seconds:g} s, and hides what was written behind it. "
                "Kafka ends it when its time is over: try again then."
            )
        time.sleep(_PAUSE_SECONDS)
    return Stretch(settings, starts, ends)


def listed(
    settings: Settings, extent: Extent, subscribers: Collection[str] = (), seconds: float = 10.0
) -> Iterator[tuple[ReceivedUndelivered, bool]]:
    """What the topic has between two places, and of each whether it waits."""
    settled = committed(settings, seconds).settled()
    for message in chain.from_iterable(tail(settings.kafka, settings.names.undelivered, extent, seconds)):
        received = received_of(message)
        if received is not None and (not subscribers or received.subscriber in subscribers):
            yield received, received.place not in settled


def waiting_counts(settings: Settings, subscribers: Collection[str] = (), seconds: float = 10.0) -> Counter[str]:
    """How many wait, by subscriber."""
    stretch = committed(settings, seconds)
    settled = stretch.settled()
    counts: Counter[str] = Counter()
    for message in chain.from_iterable(stretch.messages()):
        if place_among(message) not in settled and _is_of(message, subscribers) and settled_by(message) is None:
            counts[owner_of(message)] += 1
    return counts


def vanished_subscribers(settings: Settings, seconds: float = 60.0) -> set[str]:
    """Those whose topic was gone when last something was to be sent, and to whom nothing was sent after all since.

    If there is more than can be read in so many seconds, the newest of it is left out, and the log says so.
    """
    deadline = time.monotonic() + seconds
    stretch = committed(settings, seconds)
    vanished: set[str] = set()
    try:
        for messages in stretch.messages(max(0.0, deadline - time.monotonic())):
            for message in messages:
                _note(message, vanished)
    except UnreachableError as error:
        _LOG.warning("which topics are gone is not wholly known: %s", error)
    return vanished


def settled_by(message: Message) -> UndeliveredPlace | None:
    """The place of which this record says that it does not wait any more."""
    if message.value() is not None:
        return None
    header = dict(headers_of(message)).get(SETTLED)
    try:
        return None if header is None else UndeliveredPlace.parse(SETTLED, header)
    except RecordError:
        return None  # `received_of` tells of it


def received_of(message: Message) -> ReceivedUndelivered | None:
    """None if it settles another one."""
    if settled_by(message) is not None:
        return None
    undelivered, problem = None, None
    try:
        undelivered = _decoded(message)
    except RecordError as error:
        problem = f"the record cannot be read: {error}"
    headers, milliseconds = dict(headers_of(message)), message.timestamp()[1]
    return ReceivedUndelivered(place_among(message), milliseconds, headers, owner_of(message), undelivered, problem)


def _decoded(message: Message) -> Undelivered:
    undelivered = Undelivered.decode(message.value() or b"")
    check_subscriber(undelivered.subscriber)
    if message.key() != undelivered.subscriber.encode():
        raise RecordError("key_mismatch", f"its key is {message.key()!r}, its subscriber {undelivered.subscriber}")
    return undelivered


def place_among(message: Message) -> UndeliveredPlace:
    return UndeliveredPlace(place_of(message)[1], offset_of(message))


def owner_of(message: Message) -> str:
    """The subscriber, by the record's key."""
    return (message.key() or b"").decode(errors="backslashreplace")


def _is_of(message: Message, subscribers: Collection[str]) -> bool:
    return not subscribers or owner_of(message) in subscribers


def _partitions(admin: AdminClient, settings: Settings, seconds: float = 10.0) -> list[int]:
    try:
        return partitions_known_to(admin, settings.kafka, settings.names.undelivered, seconds)
    except MissingError as error:
        raise MissingError(f"{error} Make it: tamis topics create") from error


def _note(message: Message, vanished: set[str]) -> None:
    subscriber = owner_of(message)
    if settled_by(message) is not None:
        vanished.discard(subscriber)
        return
    try:
        reason = Undelivered.decode(message.value() or b"").reason
    except RecordError:
        return
    (vanished.add if reason == Obstacle.MISSING else vanished.discard)(subscriber)

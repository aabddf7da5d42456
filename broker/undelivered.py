"""Notifications that their topics could not take, as `tamis.undelivered` has them: which of them wait."""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from tamis.broker.configuration import Settings
from tamis.broker.errors import UnreachableError
from tamis.broker.kafka import Message, headers_of
from tamis.broker.settling import Stretch, committed, place_among, settled_by
from tamis.broker.tailing import Extent, tail
from tamis.codecs.errors import RecordError
from tamis.codecs.headers import WaitingPlace
from tamis.codecs.subscription import check_subscriber
from tamis.codecs.undelivered import Obstacle, Undelivered

_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ReceivedUndelivered:
    """A record of the topic that settles none."""

    place: WaitingPlace
    timestamp: int
    """Kafka's, in milliseconds."""
    headers: Mapping[str, bytes]
    subscriber: str
    """By the record's key."""
    undelivered: Undelivered | None
    problem: str | None
    """Why that is None."""


def waiting(
    stretch: Stretch, settled: Collection[WaitingPlace], subscribers: Collection[str] = ()
) -> Iterator[list[ReceivedUndelivered]]:
    """Those that are not settled; only of some subscribers, if any are named."""
    for messages in stretch.messages():
        some = (m for m in messages if place_among(m) not in settled and _is_of(m, subscribers))
        yield [received for received in map(received_of, some) if received is not None]


def listed(
    settings: Settings, extent: Extent, subscribers: Collection[str] = (), seconds: float = 10.0
) -> Iterator[tuple[ReceivedUndelivered, bool]]:
    """What the topic has between two places, and of each whether it waits."""
    settled = committed(settings.kafka, settings.names.undelivered, seconds).settled()
    for message in chain.from_iterable(tail(settings.kafka, settings.names.undelivered, extent, seconds)):
        received = received_of(message)
        if received is not None and (not subscribers or received.subscriber in subscribers):
            yield received, received.place not in settled


def waiting_counts(settings: Settings, subscribers: Collection[str] = (), seconds: float = 10.0) -> Counter[str]:
    """How many wait, by subscriber."""
    stretch = committed(settings.kafka, settings.names.undelivered, seconds)
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
    stretch = committed(settings.kafka, settings.names.undelivered, seconds)
    vanished: set[str] = set()
    try:
        for messages in stretch.messages(max(0.0, deadline - time.monotonic())):
            for message in messages:
                _note(message, vanished)
    except UnreachableError as error:
        _LOG.warning("which topics are gone is not wholly known: %s", error)
    return vanished


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


def owner_of(message: Message) -> str:
    """The subscriber, by the record's key."""
    return (message.key() or b"").decode(errors="backslashreplace")


def _is_of(message: Message, subscribers: Collection[str]) -> bool:
    return not subscribers or owner_of(message) in subscribers


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

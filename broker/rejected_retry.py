"""Sending rejected events once more, when their schema or their topic's format is known at last: each exactly once.

1. Become the one retrier there is. Whoever was it before can commit nothing any more.
2. Read the topic of rejected input to its end: what waits is what nothing settles.
3. Send it in its order to the partitions that it came from, some at a time, each with the record that settles it in the
   same transaction.

What is still not understood is rejected anew, and waits as another one. What several shards have rejected is sent once.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

import xxhash

from tamis.broker.bundles import Bundles, Record, bundled
from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.broker.interrupts import interrupts_deferred
from tamis.broker.kafka import admin_client
from tamis.broker.layouts import require_layout
from tamis.broker.received import ReceivedRejection, rejection_of
from tamis.broker.settling import Stretch, committed, complete, place_among, settled_by
from tamis.broker.topic_facts import topic_facts
from tamis.codecs.headers import RETRIED, SETTLED, Rejection, WaitingPlace
from tamis.codecs.reasons import Reason

_AT_ONCE = 500

Progress = Callable[[int], None]
"""Takes how many more are sent."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be sent."""

    topics: Collection[str] = ()
    """What came in these; none: in any."""
    reasons: Collection[str] = ()
    """What was rejected for these; none: for any but that processes died of it."""

    def has(self, rejection: Rejection) -> bool:
        is_named = rejection.reason in self.reasons or (not self.reasons and rejection.reason != Reason.POISON)
        return is_named and (not self.topics or rejection.topic in self.topics)


@dataclass(slots=True)
class RetryReport:
    """What became of what waited; of a dry run, what would become of it. By topic and reason of the rejection."""

    sent: Counter[tuple[str, str]] = field(default_factory=Counter[tuple[str, str]])
    left: dict[tuple[str, str], Counter[str]] = field(default_factory=dict[tuple[str, str], Counter[str]])
    """Why they cannot be sent, and how many."""
    repeated: int = 0
    """Rejections of events that another shard has rejected, too: these are sent for that one."""

    def add(self, some: Iterable["_Ready"]) -> int:
        """How many of these are sent."""
        sent = [_kind(ready.rejection) for ready in some if not ready.is_sent]
        self.sent.update(sent)
        return len(sent)


@dataclass(frozen=True, slots=True)
class _Ready:
    place: WaitingPlace
    rejection: Rejection
    key: bytes | None
    value: bytes
    is_sent: bool
    """For another shard, which rejected it, too."""

    @property
    def size(self) -> int:
        return len(self.value) + len(self.key or b"")

    def records(self, topic: str) -> list[Record]:
        """The event, and what says in the topic of rejected input that it does not wait any more."""
        source = self.rejection
        event = Record(source.topic, source.partition, self.key, self.value, {RETRIED: self.place.header})
        settled = Record(topic, self.place.partition, self.key, None, {SETTLED: self.place.header})
        return [settled] if self.is_sent else [event, settled]


def rehearse(settings: Settings, wanted: Wanted, seconds: float = 10.0) -> RetryReport:
    """What `retry` would do just now; nothing is changed."""
    report = RetryReport()
    stretch = committed(settings.kafka, settings.names.rejected, seconds)
    report.add(_ready(settings, stretch, stretch.settled(), wanted, report))
    return report


def retry(settings: Settings, wanted: Wanted, report: RetryReport, progress: Progress) -> None:
    """Send what waits. The report is kept true on the way: it stands also if this ends with an error.

    ConflictError if another retrier begins meanwhile, UnreachableError if Kafka takes nothing any more.
    """
    topic = settings.names.rejected
    bundles = Bundles(settings.kafka, topic)
    stretch = complete(settings.kafka, topic)
    settled = stretch.settled()
    for some in bundled(_ready(settings, stretch, settled, wanted, report), _AT_ONCE, lambda ready: ready.size):
        places = {ready.place for ready in some}
        with interrupts_deferred():
            records = [record for ready in some for record in ready.records(topic)]
            bundles.send(records, partial(_are_settled, settings, places, settled))
            settled |= places
            progress(report.add(some))


def _are_settled(settings: Settings, places: Collection[WaitingPlace], settled: Collection[WaitingPlace]) -> bool:
    """Whether these are, beside those that were. ConflictError if others have settled something meanwhile."""
    topic = settings.names.rejected
    found = complete(settings.kafka, topic).settled().difference(settled)
    if found and found != places:
        raise ConflictError(f"Somebody else has begun to send as {topic}. See what is left, and run it again.")
    return bool(found)


def _ready(
    settings: Settings, stretch: Stretch, settled: Collection[WaitingPlace], wanted: Wanted, report: RetryReport
) -> Iterator[_Ready]:
    """What can be sent of what is wanted; why the rest cannot be is in the report."""
    partitions = _partitions(settings)
    sent = _sent(stretch, settled)
    for message in chain.from_iterable(stretch.messages()):
        place = place_among(message)
        if place in settled or settled_by(message) is not None:
            continue
        received = rejection_of(message)
        rejection = received.rejection
        if rejection is None or not wanted.has(rejection):
            continue
        hindrance = _hindrance(settings, received, rejection, partitions)
        if hindrance is None:
            event = _digest(received, rejection)
            is_sent = event in sent
            report.repeated += is_sent
            yield _Ready(place, rejection, received.key, received.value or b"", is_sent)
            sent.add(event)
        else:
            report.left.setdefault(_kind(rejection), Counter())[hindrance] += 1


def _sent(stretch: Stretch, settled: Collection[WaitingPlace]) -> set[int]:
    """The events that were sent before, as they may be waiting once more, rejected by another shard."""
    if not settled:
        return set()
    messages = chain.from_iterable(stretch.messages())
    done = (rejection_of(message) for message in messages if place_among(message) in settled)
    return {_digest(received, received.rejection) for received in done if received.rejection is not None}


def _digest(received: ReceivedRejection, rejection: Rejection) -> int:
    """Where it came from, and what it is: in a topic that was made anew, another event has the same offset."""
    parts = (rejection.topic.encode(), received.key or b"", received.value or b"")
    digest = xxhash.xxh3_128(f"{rejection.partition}/{rejection.offset}/{[len(part) for part in parts]}".encode())
    for part in parts:
        digest.update(part)
    return digest.intdigest()


def _hindrance(
    settings: Settings, received: ReceivedRejection, rejection: Rejection, partitions: Mapping[str, int]
) -> str | None:
    if rejection.topic == settings.names.subscriptions:
        return "it is no event: subscribe again"
    if rejection.partition >= partitions.get(rejection.topic, 0):
        return "its partition is not among those of event topics any more"
    if received.value is None:
        return "no value was kept: send it again from where it came"
    return None


def _partitions(settings: Settings) -> dict[str, int]:
    """How many each event topic has."""
    names = require_layout(settings).topics.keys() - {settings.names.subscriptions}
    facts = topic_facts(admin_client(settings.kafka), names)
    return {name: topic.partitions for name, topic in facts.items()}


def _kind(rejection: Rejection) -> tuple[str, str]:
    return rejection.topic, rejection.reason

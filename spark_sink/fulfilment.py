"""How far events have all of their notifications in what is read, so that both can be compared while brokers work.

A transaction that commits the offsets of events commits their notifications, too, but can be read in one partition
sooner than in another, and who reads all partitions asks each for its end at another moment. So first it is asked which
offsets are committed, and then where all else ends that could have been written with them, whether that can be read
or not. Whoever has read all partitions up to there has all notifications of those events.
"""

import logging
import threading
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, UnreachableError
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.lag import matched_up_to
from tamis.broker.lag_ends import log_ends, places_of
from tamis.spark_sink.archive_plan import Topics, topics_of
from tamis.spark_sink.archive_tables import Slice

_LOG = logging.getLogger(__name__)
_SECONDS = 15.0
WAIT_SECONDS = 60.0
"""For so long transactions that are open are waited for."""
_POLL_SECONDS = 0.2
_PROMISES_MAX = 64
_EVENTS = "events"

Fulfilled = Mapping[Slice, int]
"""Of event partitions, the offset before which events have all of their notifications; of `tamis.undelivered`, the one
before which what is noted as sent after all is there."""


@dataclass(frozen=True, slots=True)
class Promise:
    """What will be fulfilled for whoever has read that far."""

    fulfilled: Fulfilled
    ends: Mapping[Slice, int]
    """Behind all that was written with it."""

    def is_kept(self, nexts: Mapping[Slice, int]) -> bool:
        return all(nexts.get(each, 0) >= end for each, end in self.ends.items())


def promised(settings: Settings) -> tuple[Promise, Topics]:
    """And all topics that there were. UnreachableError if Kafka does not tell all of it."""
    admin = admin_client(settings.kafka)
    # In this order: what comes about between two of these questions must show in the later ones' answers.
    matched = matched_up_to(settings, _SECONDS)
    try:
        waiting = places_of(admin, [settings.names.undelivered], _SECONDS)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell about undelivered ones: {error.args[0].str()}") from error
    settled = log_ends(admin, waiting, _SECONDS, committed=True)
    topics = topics_of(settings, notifications=True)
    slices = {log.place: log.slice for log in topics.logs if topics.roles[log.topic] != _EVENTS}
    ends = log_ends(admin, slices, _SECONDS)
    if silent := [place for place in slices if place not in ends]:
        raise UnreachableError(f"Kafka does not tell where {silent[0][0]} [{silent[0][1]}] ends.")
    known = matched | {slices[place]: end for place, end in settled.items() if place in slices}
    return Promise(known, {slices[place]: end for place, end in ends.items()}), topics


def await_kept(settings: Settings, promise: Promise, topics: Topics) -> bool:
    """Whether all of it can be read in time."""
    admin = admin_client(settings.kafka)
    left = {log.place: promise.ends[log.slice] for log in topics.logs if log.slice in promise.ends}
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        ends = log_ends(admin, left, _SECONDS, committed=True)
        left = {place: end for place, end in left.items() if ends.get(place, 0) < end}
        if not left or time.monotonic() > deadline:
            return not left
        time.sleep(_POLL_SECONDS)


class Fulfilment:
    """What an archive has been promised, and what it tells as fulfilled."""

    def __init__(self, told: Fulfilled | None) -> None:
        self.told = told
        """What the archive has; None if it tells nothing of that yet."""
        self._promises: list[Promise] = []
        self._nexts: Mapping[Slice, int] = {}
        """How far the archive has read."""
        self._lock = threading.Lock()
        """Spark asks in a thread of its own."""
        self._is_silent = False
        self._is_begun = False
        self._used_up: list[Promise] = []

    def begin(self) -> None:
        """Another stream reads now, whose first batch asks what to tell, even if there is nothing to read."""
        self._is_begun = False

    def ask(self, settings: Settings, *, waits: bool = False) -> Topics | None:
        """For another promise, and until it is kept, if it can be waited for; which topics there are.

        Who gets no answer archives all the same.
        """
        try:
            promise, topics = promised(settings)
            if waits and not await_kept(settings, promise, topics):
                _LOG.warning("a transaction of Tamis's is open for long: the last events will not be comparable yet")
        except BrokerError as error:
            if not self._is_silent:
                _LOG.warning("Up to where events have all of their notifications is not told: %s", error)
            self._is_silent = True
            return None
        self._is_silent = False
        with self._lock:
            self._promises.append(promise)
            if len(self._promises) > _PROMISES_MAX:
                del self._promises[1::2]  # the first one is kept soonest, if none is for long
        return topics

    def reached(self, nexts: Mapping[Slice, int]) -> Fulfilled | None:
        """All that is fulfilled for who has read up to there; None if nothing was ever promised that is."""
        with self._lock:
            self._is_begun = True
            self._used_up = self._kept(nexts)
            return self._told_with(self._used_up)

    def told_with(self, nexts: Mapping[Slice, int], fulfilled: Fulfilled | None) -> None:
        """The archive has read up to there, and tells what `reached` said. What was promised since comes next."""
        with self._lock:
            self.told, self._nexts = fulfilled, nexts
            self._promises = [one for one in self._promises if not any(one is used for used in self._used_up)]
            self._used_up = []

    @property
    def has_more_to_tell(self) -> bool:
        """Though nothing more is read; not before the stream's first batch, which tells it anyway."""
        with self._lock:
            return self._is_begun and self._told_with(self._kept(self._nexts)) != self.told

    def _kept(self, nexts: Mapping[Slice, int]) -> list[Promise]:
        """And those before: a later one covers them, but for topics that are gone since."""
        count = max((number for number, one in enumerate(self._promises, 1) if one.is_kept(nexts)), default=0)
        return self._promises[:count]

    def _told_with(self, promises: Iterable[Promise]) -> Fulfilled | None:
        told = self.told
        for promise in promises:
            told = {**(told or {}), **promise.fulfilled}
        return told

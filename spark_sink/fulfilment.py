"""How far events have all of their notifications in what is read, so that both can be compared while brokers work.

A transaction that commits the offsets of events commits their notifications, too, but can be read in one partition
sooner than in another, and who reads all partitions asks each for its end at another moment. So first it is asked which
offsets are committed, and then where all else ends that could have been written with them, whether that can be read
or not. Whoever has read all partitions up to there has all notifications of those events.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, UnreachableError
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.lag import matched_up_to
from tamis.broker.lag_ends import Place, log_ends, places_of
from tamis.spark_sink.archive_plan import topics_of
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
    ends: Mapping[Place, int]
    """Behind all that was written with it."""
    ids: Mapping[str, str]
    """Of the topics of these places."""

    def is_kept(self, nexts: Mapping[Slice, int]) -> bool:
        return all(nexts.get((self.ids[topic], partition), 0) >= end for (topic, partition), end in self.ends.items())


def promised(settings: Settings) -> Promise:
    """UnreachableError if Kafka does not tell all of it."""
    admin = admin_client(settings.kafka)
    # In this order: what comes about between two of these questions must show in the later ones' answers.
    matched = matched_up_to(settings, _SECONDS)
    try:
        waiting = places_of(admin, [settings.names.undelivered], _SECONDS)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell about undelivered ones: {error.args[0].str()}") from error
    settled = log_ends(admin, waiting, _SECONDS, committed=True)
    topics = topics_of(settings, notifications=True)
    places = [log.place for log in topics.logs if topics.roles[log.topic] != _EVENTS]
    ends = log_ends(admin, places, _SECONDS)
    if silent := [place for place in places if place not in ends]:
        raise UnreachableError(f"Kafka does not tell where {silent[0][0]} [{silent[0][1]}] ends.")
    ids = topics.ids
    known = {(ids[topic], at): offset for (topic, at), offset in {**matched, **settled}.items() if topic in ids}
    return Promise(known, ends, ids)


def await_kept(settings: Settings, promise: Promise) -> bool:
    """Whether all of it can be read in time."""
    admin = admin_client(settings.kafka)
    left = dict(promise.ends)
    deadline = time.monotonic() + WAIT_SECONDS
    while left:
        ends = log_ends(admin, left, _SECONDS, committed=True)
        left = {place: end for place, end in left.items() if ends.get(place, 0) < end}
        if left and time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS if left else 0)
    return True


class Fulfilment:
    """What an archive has been promised, and has fulfilled."""

    def __init__(self, told: Fulfilled | None) -> None:
        self.told = told
        """What the archive has; None if it tells nothing of that yet."""
        self._fulfilled = dict(told or {})
        self._promises: deque[Promise] = deque(maxlen=_PROMISES_MAX)
        self._lock = threading.Lock()
        """Spark asks in a thread of its own."""

    def ask(self, settings: Settings, *, waits: bool = False) -> None:
        """Until it is kept, if it can be waited for. Who gets no answer archives all the same."""
        try:
            promise = promised(settings)
            if waits:
                await_kept(settings, promise)
        except BrokerError as error:
            _LOG.warning("Up to where events have all of their notifications is not told: %s", error)
        else:
            with self._lock:
                self._promises.append(promise)

    def reached(self, nexts: Mapping[Slice, int]) -> Fulfilled:
        """All that is fulfilled for who has read up to there."""
        with self._lock:
            kept = [number for number, promise in enumerate(self._promises) if promise.is_kept(nexts)]
            for _ in range(max(kept, default=-1) + 1):  # a later one covers those before it
                self._fulfilled |= self._promises.popleft().fulfilled
            return dict(self._fulfilled)

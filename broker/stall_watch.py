"""Notices a consumer that has stopped fetching.

librdkafka (2.16.0) may do that for some partitions, for good, after Kafka was restarted: no request is sent for them
any more, nothing is told, and only another client reads on. Where a client says nothing and Kafka has more, twice in a
row and though nothing was left to be handed out in between, that has happened.
"""

import math
import time
from collections.abc import Callable, Iterable, Mapping

from tamis.broker.kafka import AdminClient, KafkaException
from tamis.broker.lag_ends import Place, log_ends
from tamis.broker.transactions import RebuildError

_SECONDS = 15.0
"""Between two questions, and so long has nothing come before the first."""
_ANSWER_SECONDS = 5.0
Ends = Callable[[Iterable[Place]], Mapping[Place, int]]


def readable_ends(admin: AdminClient) -> Ends:
    """Behind the last offset that can be read; open transactions hide what follows."""
    return lambda places: log_ends(admin, places, _ANSWER_SECONDS, committed=True)


class StallWatch:
    """Of the partitions of one client, and of those that follow it."""

    def __init__(self, ends: Ends, seconds: float = _SECONDS) -> None:
        self._ends = ends
        self._least_seconds = self._seconds = seconds
        self._since: dict[Place, tuple[int, float]] = {}
        """Of each partition the next offset, and since when that is so."""
        self._suspected: dict[Place, int] = {}
        self._asked_at = -math.inf

    def look(self, nexts: Mapping[Place, int]) -> None:
        """After the client was asked, and had nothing. RebuildError if it never will have."""
        now = time.monotonic()
        unchanged = {place: known for place, known in self._since.items() if nexts.get(place) == known[0]}
        if len(unchanged) < len(self._since):
            self._seconds = self._least_seconds
        self._since = {place: unchanged.get(place, (at, now)) for place, at in nexts.items()}
        still = [place for place, (_, since) in self._since.items() if now - since >= self._seconds]
        if not still or now - self._asked_at < self._seconds:
            return
        self._asked_at = now
        try:
            ends = self._ends(still)
        except KafkaException:
            return  # it is away, which the client tells
        behind = {place: nexts[place] for place in still if ends.get(place, 0) > nexts[place]}
        for place, at in behind.items():
            if self._suspected.get(place) == at:
                # The next client has its own time, and twice as much: one that Kafka only answers slowly gets there.
                self._since = {each: (offset, now) for each, offset in nexts.items()}
                self._suspected = {}
                self._seconds *= 2
                topic, partition = place
                raise RebuildError(
                    f"the client reads no more of {topic} [{partition}], which it has up to {at} of {ends[place]}"
                )
        self._suspected = behind

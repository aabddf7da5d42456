"""Reading partitions on and on, as anyone may who is no member of a group, whatever becomes of the client."""

import logging
from collections.abc import Mapping

from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import (
    Consumer,
    Message,
    TopicPartition,
    admin_client,
    is_end_of_partition,
    offset_of,
    place_of,
    reader,
)
from tamis.broker.lag_ends import Place
from tamis.broker.reading import TELLING_ENDS
from tamis.broker.stall_watch import StallWatch, readable_ends
from tamis.broker.transactions import RebuildError

_LOG = logging.getLogger(__name__)


class Follower:
    """Goes on with another client where one has stopped fetching."""

    def __init__(self, settings: KafkaSettings, starts: Mapping[Place, int]) -> None:
        self._settings = settings
        self._starts = starts
        self.nexts: dict[Place, int] = {}
        """How far partitions are read: behind the last record, and behind what is none."""
        self._stalls = StallWatch(readable_ends(admin_client(settings)))
        self._client = self._new_client()

    def poll(self, seconds: float, most: int) -> list[Message]:
        """What comes: the first of it in so many seconds, the rest if it is here already. Records, and errors."""
        first = self._client.poll(seconds)
        if first is None:
            self._look()
            return []
        told = []
        for message in (first, *self._client.consume(most - 1, 0)):
            error = message.error()
            is_end = error is not None and is_end_of_partition(error)
            if error is None or is_end:
                place = place_of(message)
                self.nexts[place] = max(self.nexts.get(place, 0), offset_of(message) + (error is None))
            if not is_end:
                told.append(message)
        return told

    def close(self) -> None:
        self._client.close()

    def _look(self) -> None:
        try:
            self._stalls.look({place: self.nexts.get(place, max(start, 0)) for place, start in self._starts.items()})
        except RebuildError as error:
            _LOG.warning("going on with a new client: %s", error)
            self._client.close()
            self._client = self._new_client()

    def _new_client(self) -> Consumer:
        topic, _ = next(iter(self._starts))
        client = reader(self._settings, topic, TELLING_ENDS)
        client.assign([TopicPartition(*place, self.nexts.get(place, start)) for place, start in self._starts.items()])
        return client

"""Noticing that a layout is written, while working by another."""

from tamis.broker.configuration import Settings
from tamis.broker.kafka import (
    LOG_WENT_BACK,
    Consumer,
    TopicPartition,
    admin_client,
    consumer,
    is_end_of_partition,
    offset_of,
)
from tamis.broker.positions import END, resolved
from tamis.broker.reading import TELLING_ENDS
from tamis.broker.stall_watch import StallWatch, readable_ends
from tamis.broker.transactions import RebuildError

_NO_GROUP = "tamis-layout"
_AT_ONCE = 10


class LayoutWatch:
    """Knows whether there is news since it was made: so it is made before the layout is read."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings.kafka
        self._topic = settings.names.layout
        admin = admin_client(settings.kafka)
        self._next = resolved(admin, self._topic, [0], END)[0]
        self._stalls = StallWatch(readable_ends(admin))
        self._client = self._new_client()
        self._news = False

    def has_news(self) -> bool:
        """Whether one was written since this was made, or since `forget`. It waits for nothing."""
        messages = self._client.consume(_AT_ONCE, 0)
        for message in messages:
            error = message.error()
            if error is None or is_end_of_partition(error):
                self._next = max(self._next, offset_of(message) + (error is None))
            # A log that went back has other records now.
            self._news = self._news or error is None or error.code() in LOG_WENT_BACK
        if not messages:
            self._look()
        return self._news

    def forget(self) -> None:
        """What was written so far is no news any more."""
        self._news = False

    def close(self) -> None:
        self._client.close()

    def _look(self) -> None:
        try:
            self._stalls.look({(self._topic, 0): self._next})
        except RebuildError:
            self._client.close()
            self._client = self._new_client()

    def _new_client(self) -> Consumer:
        client = consumer(self._settings, _NO_GROUP, TELLING_ENDS)
        client.assign([TopicPartition(self._topic, 0, self._next)])
        return client

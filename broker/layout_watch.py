"""Noticing that a layout is written, while working by another."""

from tamis.broker.configuration import Settings
from tamis.broker.following import Follower
from tamis.broker.kafka import LOG_WENT_BACK, admin_client
from tamis.broker.positions import END, resolved

_AT_ONCE = 10


class LayoutWatch:
    """Knows whether there is news since it was made: so it is made before the layout is read."""

    def __init__(self, settings: Settings) -> None:
        topic = settings.names.layout
        end = resolved(admin_client(settings.kafka), topic, [0], END)[0]
        self._follower = Follower(settings.kafka, {(topic, 0): end})
        self._news = False

    def has_news(self) -> bool:
        """Whether one was written since this was made, or since `forget`. It waits for nothing."""
        for message in self._follower.poll(0, _AT_ONCE):
            error = message.error()
            # A log that went back has other records now.
            self._news = self._news or error is None or error.code() in LOG_WENT_BACK
        return self._news

    def forget(self) -> None:
        """What was written so far is no news any more."""
        self._news = False

    def close(self) -> None:
        self._follower.close()

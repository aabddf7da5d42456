"""The notification topics that this process writes to: that they exist is known before a transaction touches them."""

from collections.abc import Iterable

from tamis.broker.configuration import Settings
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import murmur2

_SECONDS = 10.0


class Outlets:
    """Which topics there are, and how many partitions each has."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin = admin_client(settings.kafka)
        self._partitions: dict[str, int] = {}

    def prepare(self, subscribers: Iterable[str]) -> list[str]:
        """Make sure that each of these subscribers has a topic; those that had to be made are returned."""
        names = self._settings.names
        unknown = [subscriber for subscriber in subscribers if names.notifications(subscriber) not in self._partitions]
        if not unknown:
            return []
        made = ensure_notification_topics(self._admin, self._settings, unknown)
        self._learn()
        # Those that were made just now may not be in what a broker tells yet.
        for subscriber in unknown:
            self._partitions.setdefault(names.notifications(subscriber), self._settings.notifications.partitions)
        return made

    def partition(self, topic: str, source: str, number: int) -> int:
        """Where the notifications of an event's partition go: always to the same, so that they keep their order."""
        count = self._partitions[topic]
        return 0 if count == 1 else (murmur2(f"{source}/{number}".encode()) & 0x7FFFFFFF) % count

    def _learn(self) -> None:
        try:
            topics = self._admin.list_topics(timeout=_SECONDS).topics
        except KafkaException:
            return  # they are asked for again with the next one that is unknown
        prefix = self._settings.names.notifications("")
        self._partitions |= {name: len(topic.partitions) for name, topic in topics.items() if name.startswith(prefix)}

"""The notification topics that this process writes to: that they exist is known before a transaction touches them."""

from collections.abc import Iterable
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.partitions import partition_of
from tamis.broker.transactions import refuse

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class Outlet:
    """One subscriber's topic."""

    topic: str
    partitions: int

    def partition(self, source: str, number: int) -> int:
        """Where the notifications of an event's partition go: always to the same, so that they keep their order."""
        return partition_of(f"{source}/{number}", self.partitions)


class Outlets:
    """Which subscribers have a topic."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._admin = admin_client(settings.kafka)
        self._partitions: dict[str, int] = {}

    def prepare(self, subscribers: Iterable[str]) -> list[str]:
        """Make sure that each of these subscribers has a topic; those that had to be made are returned."""
        unknown = [subscriber for subscriber in subscribers if subscriber not in self._partitions]
        if not unknown:
            return []
        try:
            made = ensure_notification_topics(self._admin, self._settings, unknown)
        except KafkaException as error:
            refuse(error)
        self._learn()
        # Those that were made just now may not be in what a broker tells yet.
        for subscriber in unknown:
            self._partitions.setdefault(subscriber, self._settings.notifications.partitions)
        return made

    def outlet(self, subscriber: str) -> Outlet:
        """KeyError if it was not prepared."""
        return Outlet(self._settings.names.notifications(subscriber), self._partitions[subscriber])

    def _learn(self) -> None:
        try:
            topics = self._admin.list_topics(timeout=_SECONDS).topics
        except KafkaException as error:
            refuse(error)
        prefix = self._settings.names.notifications("")
        self._partitions |= {
            name.removeprefix(prefix): len(topic.partitions)
            for name, topic in topics.items()
            if name.startswith(prefix)
        }

"""Making notification topics."""

from collections.abc import Iterable

from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, KafkaException, NewTopic


def ensure_notification_topics(admin: AdminClient, settings: Settings, subscribers: Iterable[str]) -> list[str]:
    """Make those that are missing; which ones were."""
    existing = admin.list_topics(timeout=10).topics
    names = [settings.names.notifications(subscriber) for subscriber in subscribers]
    missing = [name for name in names if name not in existing]
    if missing:
        futures = admin.create_topics([NewTopic(name, settings.notifications.partitions) for name in missing])
        for future in futures.values():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].name() != "TOPIC_ALREADY_EXISTS":
                    raise
    return missing

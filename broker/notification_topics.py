"""Subscribers' topics, made when they are first needed."""

from collections.abc import Iterable

from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, KafkaException, NewTopic

_DAY_MS = 86_400_000
_AT_ONCE = 100
"""In one request: one by one each takes 31 ms, so many take 40 ms together."""
_SECONDS = 60.0
_EXISTS = "TOPIC_ALREADY_EXISTS"


def ensure_notification_topics(admin: AdminClient, settings: Settings, subscribers: Iterable[str]) -> list[str]:
    """Make the topics that these subscribers lack; the names of those that were made, in the given order.

    Whoever else makes one at the same time is welcome to it. KafkaException if Kafka refuses one: those that came
    before it are made.
    """
    there = admin.list_topics(timeout=_SECONDS).topics
    wanted = [settings.names.notifications(subscriber) for subscriber in dict.fromkeys(subscribers)]
    missing = [name for name in wanted if name not in there]
    made: list[str] = []
    for start in range(0, len(missing), _AT_ONCE):
        topics = [_topic(name, settings) for name in missing[start : start + _AT_ONCE]]
        for name, future in admin.create_topics(topics, operation_timeout=_SECONDS).items():
            try:
                future.result()
            except KafkaException as error:
                if error.args[0].name() != _EXISTS:
                    raise
            else:
                made.append(name)
    return made


def _topic(name: str, settings: Settings) -> NewTopic:
    """As many replicas as the cluster gives by default."""
    retention = round(settings.notifications.retention_days * _DAY_MS)
    config = {"cleanup.policy": "delete", "retention.ms": str(retention)}
    return NewTopic(name, settings.notifications.partitions, config=config)

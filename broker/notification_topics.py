"""Subscribers' topics, made when they are first needed."""

from collections.abc import Iterable, Sequence

from tamis.broker.configuration import Settings
from tamis.broker.kafka import UNSETTLED, AdminClient, KafkaError, KafkaException, NewTopic
from tamis.broker.topic_plans import BY_KAFKAS_CLOCK

_DAY_MS = 86_400_000
_AT_ONCE = 100
"""In one request: one by one each takes 31 ms, so many take 40 ms together."""
_SECONDS = 60.0
_EXISTS = "TOPIC_ALREADY_EXISTS"


def ensure_notification_topics(admin: AdminClient, settings: Settings, subscribers: Iterable[str]) -> list[str]:
    """Make the topics that these subscribers lack; the names of those that were made, in the given order.

    Whoever else makes one at the same time is welcome to it. KafkaException if Kafka refuses one.
    """
    there = admin.list_topics(timeout=_SECONDS).topics
    names = settings.names
    missing = [name for name in dict.fromkeys(subscribers) if names.notifications(name) not in there]
    answers = create_notification_topics(admin, settings, missing)
    for error in answers.values():
        if error is not None and not is_there_already(error):
            raise KafkaException(error)
    return [names.notifications(subscriber) for subscriber in missing if answers[subscriber] is None]


def create_notification_topics(
    admin: AdminClient, settings: Settings, subscribers: Sequence[str], seconds: float = _SECONDS
) -> dict[str, KafkaError | None]:
    """Make these subscribers' topics, many at once. By subscriber, what Kafka said where it has not made one.

    KafkaException if it does not answer, or not for good.
    """
    answers: dict[str, KafkaError | None] = {}
    for start in range(0, len(subscribers), _AT_ONCE):
        wanted = {settings.names.notifications(name): name for name in subscribers[start : start + _AT_ONCE]}
        topics = [_topic(name, settings) for name in wanted]
        for name, future in admin.create_topics(topics, operation_timeout=seconds, request_timeout=seconds).items():
            try:
                future.result()
                answers[wanted[name]] = None
            except KafkaException as error:
                if error.args[0].code() in UNSETTLED:
                    raise
                answers[wanted[name]] = error.args[0]
    return answers


def is_there_already(error: KafkaError) -> bool:
    return error.name() == _EXISTS


def _topic(name: str, settings: Settings) -> NewTopic:
    """As many replicas as the cluster gives by default."""
    retention = round(settings.notifications.retention_days * _DAY_MS)
    dated, by_kafka = BY_KAFKAS_CLOCK
    config = {"cleanup.policy": "delete", "retention.ms": str(retention), dated: by_kafka}
    return NewTopic(name, settings.notifications.partitions, config=config)

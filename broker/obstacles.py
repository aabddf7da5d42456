"""What stands against writing to a topic, as far as Kafka tells."""

from collections.abc import Iterable
from contextlib import suppress

from tamis.broker.kafka import (
    AdminClient,
    ConfigResource,
    KafkaException,
    ResourceType,
    can_write,
    described,
    is_impaired,
)
from tamis.broker.transactions import is_forbidden
from tamis.codecs.undelivered import Obstacle

_SECONDS = 3.0
_AT_ONCE = 500
_MISSING = "UNKNOWN_TOPIC_OR_PART"
_SIZE = "max.message.bytes"


def obstacles(admin: AdminClient, topics: Iterable[str]) -> dict[str, Obstacle]:
    """Of topics that cannot be written to just now. KafkaException if Kafka does not tell."""
    found: dict[str, Obstacle] = {}
    wanted = list(topics)
    for start in range(0, len(wanted), _AT_ONCE):
        for topic, told in described(admin, wanted[start : start + _AT_ONCE], _SECONDS, rights=True):
            if isinstance(told, KafkaException):
                if told.args[0].name() == _MISSING:
                    found[topic] = Obstacle.MISSING
                elif is_forbidden(told.args[0]):
                    found[topic] = Obstacle.FORBIDDEN
                else:
                    raise told
            elif not can_write(told):
                found[topic] = Obstacle.FORBIDDEN
            elif is_impaired(told):
                found[topic] = Obstacle.UNAVAILABLE
    return found


def bytes_max(admin: AdminClient, topics: Iterable[str]) -> dict[str, int]:
    """How large a batch of records each takes, if that may be known."""
    found: dict[str, int] = {}
    wanted = list(topics)
    for start in range(0, len(wanted), _AT_ONCE):
        asked = [ConfigResource(ResourceType.TOPIC, topic) for topic in wanted[start : start + _AT_ONCE]]
        for resource, answer in admin.describe_configs(asked, request_timeout=_SECONDS).items():
            with suppress(KafkaException, KeyError, TypeError, ValueError):
                found[resource.name] = int(answer.result()[_SIZE].value)
    return found

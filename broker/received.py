"""What subscribers got, and what was rejected, as people and tools read it.

Notifications are Avro or JSON, as their topic was written; the event in an Avro one may be of any schema, which the
configuration or the registry knows. What cannot be read is told, and stops nothing.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tamis.broker.configuration import Settings
from tamis.broker.kafka import Message, headers_of, offset_of, place_of
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.codecs.errors import RecordError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.headers import Rejection
from tamis.codecs.messages import DETECT, Messages
from tamis.codecs.notification import Match, Notification
from tamis.codecs.rendering import rendered


@dataclass(frozen=True, slots=True)
class ReceivedNotification:
    """A record of a subscriber's topic."""

    partition: int
    offset: int
    timestamp: int
    """Kafka's, in milliseconds."""
    key: bytes | None
    notification: Notification | None
    """Without the event's bytes, if it was JSON. None if it cannot be read."""
    event: Any
    """As JSON has it: the attributes of an `Event`, flattened; what is JSON as it came. None if it cannot be told."""
    problem: str | None
    """Why something is None."""


@dataclass(frozen=True, slots=True)
class ReceivedRejection:
    """A record of the topic of rejected input."""

    partition: int
    offset: int
    timestamp: int
    rejection: Rejection | None
    key: bytes | None
    value: bytes | None
    problem: str | None
    """Why its headers cannot be read."""


class NotificationReader:
    """Reads notifications with the schemas that this configuration knows."""

    def __init__(self, settings: Settings) -> None:
        registry = None if settings.schema_registry is None else ConfluentRegistry(settings.schema_registry)
        self._decoder = EventDecoder(registry=registry)
        self._formats = {topic: topic_settings.format() for topic, topic_settings in settings.events.items()}

    def read(self, messages: Sequence[Message]) -> list[ReceivedNotification]:
        contents = [content_of(message.value() or b"") for message in messages]
        by_topic: dict[str, list[Content]] = {}
        for content in contents:
            if content.notification is not None and content.notification.event is not None:
                by_topic.setdefault(content.notification.topic, []).append(content)
        for topic, some in by_topic.items():
            self._add_events(topic, some)
        return [
            ReceivedNotification(*_place(message), message.key(), content.notification, content.event, content.problem)
            for message, content in zip(messages, contents, strict=True)
        ]

    def _add_events(self, topic: str, contents: Sequence["Content"]) -> None:
        """All at once; where one cannot be read, each alone."""
        notifications = [content.notification for content in contents if content.notification is not None]
        messages = Messages(
            topic=topic,
            partition=np.array([one.partition for one in notifications], np.int32),
            offsets=[one.offset for one in notifications],
            timestamps=[-1] * len(notifications),
            values=[one.event for one in notifications],
            format=self._formats.get(topic, DETECT),
        )
        try:
            for content, text in zip(contents, rendered(self._decoder, messages), strict=True):
                content.event = json.loads(text)
        except (RecordError, ValueError, RecursionError) as error:
            if len(contents) == 1:
                contents[0].problem = f"the event cannot be read: {error}"
                return
            for content in contents:
                self._add_events(topic, [content])


@dataclass(slots=True)
class Content:
    """Of a notification's bytes, as far as they can be read."""

    notification: Notification | None = None
    event: Any = None
    problem: str | None = None


def content_of(value: bytes) -> Content:
    try:
        if value.startswith(b"{"):
            return Content(*_of_json(value))
        return Content(Notification.decode(value))
    except KeyError as error:
        return Content(problem=f"the notification cannot be read: {error} is missing")
    except (RecordError, ValueError, TypeError, RecursionError) as error:
        return Content(problem=f"the notification cannot be read: {error}")


def rejection_of(message: Message) -> ReceivedRejection:
    rejection, problem = None, None
    try:
        rejection = Rejection.parse(headers_of(message))
    except RecordError as error:
        problem = str(error)
    return ReceivedRejection(*_place(message), rejection, message.key(), message.value(), problem)


def text_of(data: bytes | None) -> Mapping[str, str] | str | None:
    """For JSON: text as text, anything else in base64, marked so."""
    if data is None:
        return None
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _place(message: Message) -> tuple[int, int, int]:
    return place_of(message)[1], offset_of(message), message.timestamp()[1]


def _of_json(value: bytes) -> tuple[Notification, Any]:
    fields = json.loads(value)
    event = fields.pop("event")
    matches = [Match(**match) for match in fields.pop("matches")]
    return Notification(**fields, matches=matches, event=None), event

"""Notifications whose event was too large to be kept beside them: the event is fetched from its own topic."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import chain

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError
from tamis.broker.kafka import KafkaException, Message, admin_client
from tamis.broker.positions import END, START, resolved
from tamis.broker.schema_registry import ConfluentRegistry
from tamis.broker.tailing import between
from tamis.broker.topic_facts import topic_facts
from tamis.codecs.errors import RecordError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.headers import ID, NotificationId
from tamis.codecs.messages import DETECT, Messages
from tamis.codecs.notification import Notification
from tamis.codecs.rendering import rendered
from tamis.codecs.undelivered import Undelivered

_NO_EVENT = b'"event":null}'
"""The end of a notification that is JSON and has none."""
_SECONDS = 10.0

EventPlace = tuple[str, int, int]
"""Topic, partition, offset."""


class EventGoneError(Exception):
    """The event cannot be had any more; the message says why."""


class LeftOutEvents:
    """Puts events back into their notifications."""

    def __init__(self, settings: Settings) -> None:
        registry = None if settings.schema_registry is None else ConfluentRegistry(settings.schema_registry)
        self._settings = settings
        self._decoder = EventDecoder(registry=registry)
        self._admin = admin_client(settings.kafka)
        self._topic_ids: dict[str, str | None] = {}
        self._last: tuple[EventPlace, Message] | None = None
        """One event is often many subscribers'."""

    def restored(self, it: Undelivered, notification: Notification, headers: Mapping[str, bytes]) -> bytes:
        """The notification as its topic was to get it. EventGoneError if its event cannot be had."""
        if not notification.matches:
            raise EventGoneError("its matches were too large to be kept; they follow from its view, tamis-view")
        self._require_same_topic(notification.topic, headers)
        message = self._event_of(notification)
        value = message.value() or b""
        if not it.notification.startswith(b"{"):
            return replace(notification, event=value).encode()
        if not it.notification.endswith(_NO_EVENT):
            raise EventGoneError("the notification has no place for its event")
        return it.notification[: -len(b"null}")] + self._as_json(notification, message, value) + b"}"

    def key(self, notification: Notification) -> bytes | None:
        """The event's. EventGoneError if it cannot be had."""
        return self._event_of(notification).key()

    def _event_of(self, notification: Notification) -> Message:
        place = (notification.topic, notification.partition, notification.offset)
        if self._last is None or self._last[0] != place:
            try:
                self._last = place, self._fetched(*place)
            except BrokerError as error:
                raise EventGoneError(f"its event cannot be read: {error}") from error
        return self._last[1]

    def _require_same_topic(self, topic: str, headers: Mapping[str, bytes]) -> None:
        """A topic of the same name that was made anew has other events at the same places."""
        if topic not in self._topic_ids:
            try:
                facts = topic_facts(self._admin, [topic]).get(topic)
            except KafkaException as error:
                raise EventGoneError(f"its event's topic {topic} cannot be seen: {error.args[0].str()}") from error
            self._topic_ids[topic] = None if facts is None else facts.id
        there = self._topic_ids[topic]
        if there is None:
            raise EventGoneError(f"there is no topic {topic} any more, from which its event came")
        try:
            wanted = NotificationId.parse(headers.get(ID, b"")).topic_id
        except RecordError as error:
            raise EventGoneError(f"it does not tell which topic {topic} its event came from: {error}") from error
        if there != wanted:
            raise EventGoneError(f"the topic {topic} was made anew since then: its id was {wanted}, and is {there}")

    def _fetched(self, topic: str, partition: int, offset: int) -> Message:
        (low,) = resolved(self._admin, topic, [partition], START, _SECONDS).values()
        (end,) = resolved(self._admin, topic, [partition], END, _SECONDS).values()
        if low <= offset < end:
            found = between(self._settings.kafka, topic, {partition: offset}, {partition: offset + 1})
            for message in chain.from_iterable(found):
                return message
        raise EventGoneError(f"its event is gone from {topic} [{partition}]: there is none at offset {offset}")

    def _as_json(self, notification: Notification, message: Message, value: bytes) -> bytes:
        """As the broker renders it."""
        section = self._settings.events.get(notification.topic)
        messages = Messages(
            topic=notification.topic,
            partition=notification.partition,
            offsets=[notification.offset],
            timestamps=[message.timestamp()[1]],
            values=[value],
            format=DETECT if section is None else section.format(),
        )
        try:
            (event,) = rendered(self._decoder, messages)
        except RecordError as error:
            raise EventGoneError(f"its event cannot be read: {error}") from error
        return event

"""Notifications that their topics cannot take, as records of `tamis.undelivered`."""

import json
from dataclasses import replace

from tamis.broker.outlets import Outlet
from tamis.codecs.notification import Notification
from tamis.codecs.undelivered import Obstacle, Undelivered

WHOLE_BYTES_MAX = 900_000
"""Of a notification that is kept as it was to be sent, and of a key: Kafka's own default takes a bit more than 10^6."""


def undelivered(outlet: Outlet, obstacle: Obstacle, detail: str, notification: bytes, event: bytes) -> Undelivered:
    """What is too large for this topic, too, goes without the event, and, if need be, without the matches.

    Both can be had again: the event is where the notification says, and what it matched follows from its view.
    """
    subscriber, topic = outlet.subscriber, outlet.topic
    if len(notification) <= WHOLE_BYTES_MAX:
        return Undelivered(subscriber, topic, obstacle, notification, detail)
    rest = _without_event(notification, event)
    if len(rest) > WHOLE_BYTES_MAX:
        rest = _without_matches(rest)
    return Undelivered(subscriber, topic, obstacle, rest, detail, whole=False)


def without_event(record: Undelivered, event: bytes) -> Undelivered:
    """For an event whose key is too large: whoever reads the event again has both."""
    if not record.whole:
        return record
    return replace(record, notification=_without_event(record.notification, event), whole=False)


def _without_event(notification: bytes, event: bytes) -> bytes:
    if notification.startswith(b"{"):
        return notification.removesuffix(event + b"}") + b"null}"
    return replace(Notification.decode(notification), event=None).encode()


def _without_matches(notification: bytes) -> bytes:
    if notification.startswith(b"{"):
        return json.dumps(json.loads(notification) | {"matches": []}, separators=(",", ":")).encode()
    return replace(Notification.decode(notification), matches=()).encode()

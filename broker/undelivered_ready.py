"""Which of the notifications that wait can be sent just now, and how; of the others, why not."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from tamis.broker.configuration import Settings
from tamis.broker.partitions import outlet_partition
from tamis.broker.received import content_of
from tamis.broker.undelivered import ReceivedUndelivered
from tamis.broker.undelivered_events import EventGoneError, LeftOutEvents
from tamis.broker.undelivered_targets import Hindrance, Targets
from tamis.codecs.errors import RecordError
from tamis.codecs.headers import ID, KEY, VIEW, WaitingPlace
from tamis.codecs.notification import Notification

UNREADABLE = "unreadable"
"""As a reason."""
_PASSED_ON = (ID, VIEW)
_ABOUT_A_RECORD = 200
"""Bytes of a record beside what is counted."""


@dataclass(frozen=True)
class Ready:
    """A notification that can be sent."""

    place: WaitingPlace
    """Where it waits."""
    subscriber: str
    topic: str
    partition: int
    """Where it goes."""
    value: bytes
    key: bytes | None
    headers: Mapping[str, bytes]

    @cached_property
    def size(self) -> int:
        """Bytes of its record, at most."""
        names = sum(len(name) + len(value) for name, value in self.headers.items())
        return len(self.value) + len(self.key or b"") + names + _ABOUT_A_RECORD


class Preparation:
    """Tells of each notification whether it can be sent, and how."""

    def __init__(self, settings: Settings, targets: Targets) -> None:
        self.targets = targets
        self._events = LeftOutEvents(settings)

    def prepared(self, received: ReceivedUndelivered) -> Ready | Hindrance:
        """Its subscriber's topic was looked at."""
        it = received.undelivered
        if it is None:
            return Hindrance(UNREADABLE, received.problem or "")
        target = self.targets.of(received.subscriber)
        if isinstance(target, Hindrance):
            return target
        try:
            value, key, partition = it.notification, received.headers.get(KEY), 0
            if not it.whole or target.partitions > 1:  # else there is nothing to read in it
                notification = _readable(it.notification)
                partition = outlet_partition(notification.topic, notification.partition, target.partitions)
                if not it.whole:
                    value = self._events.restored(it, notification, received.headers)
                    key = self._events.key(notification) if key is None else key
        except EventGoneError as error:
            return Hindrance("event_gone", str(error))
        except RecordError as error:
            return Hindrance(UNREADABLE, str(error))
        headers = {name: received.headers[name] for name in _PASSED_ON if name in received.headers}
        return Ready(received.place, received.subscriber, target.topic, partition, value, key, headers)


def _readable(value: bytes) -> Notification:
    content = content_of(value)
    if content.notification is None:
        raise RecordError("bad_value", content.problem or "")
    return content.notification

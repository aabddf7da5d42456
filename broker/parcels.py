"""Notifications on their way: to their topics, or to `tamis.undelivered` where these cannot take them."""

from collections import Counter
from dataclasses import dataclass

from tamis.broker.kafka import Message, place_of
from tamis.broker.outbox import Headers, Outbox, TooLargeError
from tamis.broker.outlets import Outlet
from tamis.broker.undeliverable import WHOLE_BYTES_MAX, undelivered, without_event
from tamis.codecs.headers import KEY
from tamis.codecs.undelivered import Obstacle

_RECORD_BYTES = 200
"""Of a record beside its key, value and headers, and of the batch that it is in, at most."""


@dataclass(frozen=True, slots=True)
class Parcel:
    """A notification, and whom it is for."""

    outlet: Outlet
    message: Message
    """Of the event."""
    value: bytes
    headers: Headers
    event: bytes
    """As it is in the notification."""

    @property
    def size(self) -> int:
        key = self.message.key() or b""
        return len(self.value) + len(key) + sum(len(value or b"") for _, value in self.headers) + _RECORD_BYTES


class ParcelPost:
    """Sends the notifications of one transaction."""

    def __init__(self, outbox: Outbox, undelivered_topic: str) -> None:
        self._outbox = outbox
        self._undelivered_topic = undelivered_topic
        self._filled: dict[str, int] = {}
        """How many bytes went to topics that take little at once, since they were flushed."""
        self.undelivered: Counter[str] = Counter()
        """How many the outlets could not take, by the obstacle."""

    def send(self, parcel: Parcel) -> None:
        outlet = parcel.outlet
        if outlet.suspension is not None:
            self._turn_away(parcel, outlet.suspension.obstacle, outlet.suspension.detail)
        elif outlet.bytes_max is not None and parcel.size > outlet.bytes_max:
            self._turn_away(parcel, Obstacle.TOO_LARGE, f"{outlet.topic} takes {outlet.bytes_max} bytes at once")
        else:
            self._keep_batches_small(parcel)
            self._deliver(parcel)

    def _deliver(self, parcel: Parcel) -> None:
        outlet, message = parcel.outlet, parcel.message
        partition = outlet.partition(*place_of(message))
        try:
            self._outbox.send(outlet.topic, parcel.value, message.key(), parcel.headers, partition)
        except TooLargeError as error:
            self._turn_away(parcel, Obstacle.TOO_LARGE, str(error))

    def _keep_batches_small(self, parcel: Parcel) -> None:
        """The client puts what comes together into one batch, which would be too large where each record is not."""
        outlet = parcel.outlet
        if outlet.bytes_max is None:
            return
        filled = self._filled.get(outlet.topic, 0) + parcel.size
        if filled > outlet.bytes_max:
            self._outbox.flush()
            filled = parcel.size
        self._filled[outlet.topic] = filled

    def _turn_away(self, parcel: Parcel, obstacle: Obstacle, detail: str) -> None:
        record = undelivered(parcel.outlet, obstacle, detail, parcel.value, parcel.event)
        headers, key = parcel.headers, parcel.message.key()
        if key is not None and len(key) > WHOLE_BYTES_MAX:
            record = without_event(record, parcel.event)
        elif key is not None:
            headers = [*headers, (KEY, key)]
        self._outbox.send(self._undelivered_topic, record.encode(), parcel.outlet.subscriber.encode(), headers)
        self.undelivered[obstacle] += 1

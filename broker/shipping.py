"""What one transaction has: notifications, views, rejections, and the offsets that it goes up to.

An event with more subscribers than a transaction may touch is shipped in parts, in the order of their names. Each part
but the last commits the event's own offset once more, and beside it the last subscriber that has its notification
(`Progress`): whoever goes on there, after whatever happened, begins behind that one.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tamis.broker.configuration import Settings
from tamis.broker.event_source import End, EventSource, Place
from tamis.broker.kafka import Message, TopicPartition, leader_epoch_of, offset_of, place_of
from tamis.broker.matching_step import Matched, notifications
from tamis.broker.outbox import Headers, Outbox
from tamis.broker.outlets import Outlet
from tamis.broker.parcels import Parcel, ParcelPost
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.view_records import ViewRecords
from tamis.codecs.headers import ID, VIEW, Rejection
from tamis.codecs.layout import Layout
from tamis.codecs.reasons import Reason
from tamis.codecs.view import Progress, View

_REJECTED_BYTES_MAX = 900_000
"""Of a rejected record that is kept whole: Kafka's own default takes a bit more than a million bytes."""
_BY_SHARD = frozenset({Reason.POISON, Reason.UNKNOWN_SCHEMA, Reason.UNUSABLE_SCHEMA})
"""What one shard may find where another finds nothing: it lies in its subscriptions, or in what a registry said."""


@dataclass(frozen=True, slots=True)
class Shipment:
    """What became of some messages; or, of one event, a part of its notifications."""

    messages: Sequence[Message]
    step: Matched
    view: View
    outlets: Mapping[int, Outlet]
    """By the numbers of the subscribers that the step has."""
    after: str = ""
    """The last subscriber of the part before this one."""
    upto: str = ""
    """The last subscriber of this part; empty if it is the last one."""

    @property
    def is_last(self) -> bool:
        return not self.upto

    def firsts(self, source: EventSource) -> dict[Place, tuple[int, str]]:
        """The first offset of each partition, and up to which subscriber its notifications went out before."""
        firsts: dict[Place, tuple[int, str]] = {}
        for message in self.messages:
            place = place_of(message)
            if place not in firsts:
                offset = offset_of(message)
                firsts[place] = offset, self.after or source.sent_before(place, offset)
        return firsts

    def ends(self) -> dict[Place, End]:
        step = 0 if self.upto else 1
        lasts = {place_of(message): message for message in self.messages}
        return {place: End(offset_of(last) + step, self.upto, leader_epoch_of(last)) for place, last in lasts.items()}


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is among those of its cluster."""

    layout: Layout
    shard: int
    slot: str


class Shipper:
    """Hands a shipment's records to the outbox."""

    def __init__(self, settings: Settings, identity: Identity, log: SubscriptionLog, source: EventSource) -> None:
        layout = identity.layout
        self._names = settings.names
        self._layout = layout
        self._shard = identity.shard
        self._log = log
        self._source = source
        self._views = ViewRecords(layout, identity.shard, settings.names.subscriptions)
        self._reporter = reporter_of(settings, layout)
        self.undelivered: Counter[str] = Counter()
        """Notifications of the last shipment that its outlets could not take, by what stood against it."""
        self.reported = 0
        """Invalid subscriptions that the last shipment told of."""

    def forget(self) -> None:
        """What was told may not have been committed, or by somebody else since."""
        self._views.forget()

    def ship(self, shipment: Shipment, outbox: Outbox) -> list[TopicPartition]:
        """Send all of it; what is returned is to be committed with it."""
        self.reported = 0
        self.undelivered = self._send_notifications(shipment, outbox)
        ends = shipment.ends()
        if shipment.is_last:
            self._send_rejections(shipment, outbox)
        self._send_reports(ends, outbox)  # with each part: its view, which is committed, is behind what they tell of
        for record in self._views.wanted(shipment.firsts(self._source), shipment.view):
            outbox.send(self._names.views, record.encode(), record.key)
        return [
            TopicPartition(*place, end.offset, Progress(shipment.view, end.after).text, end.leader_epoch)
            for place, end in ends.items()
        ]

    def shipped(self) -> None:
        """The last shipment was committed."""
        for _ in range(self.reported):
            self._log.invalid.popleft()

    @property
    def is_reporter(self) -> bool:
        """Whether it is this process that tells of invalid subscriptions.

        Who has the reporter's partition does: how far that went is in the view that is committed there.
        """
        return self._reporter in self._source.owned

    @property
    def has_reports(self) -> bool:
        """Whether it has to tell of some."""
        return bool(self._log.invalid) and self.is_reporter

    def _send_notifications(self, shipment: Shipment, outbox: Outbox) -> Counter[str]:
        """How many their outlets could not take, by what stood against it."""
        step, state, view = shipment.step, self._log.state, (VIEW, shipment.view.header)
        numbers, events = step.groups.subscribers.tolist(), step.groups.events.tolist()
        told = notifications(state, step, self._layout.topics, state.subscriber_names(shipment.outlets))
        post = ParcelPost(outbox, self._names.undelivered)
        for place, event, number, (notification_id, value) in zip(step.places, events, numbers, told, strict=True):
            headers: Headers = [(ID, notification_id), view]
            outlet = shipment.outlets[number]
            post.send(Parcel(outlet, shipment.messages[place], value, headers, step.columns.values[event]))
        return post.undelivered

    def _send_rejections(self, shipment: Shipment, outbox: Outbox) -> None:
        """Of several shards, which all see every event, one does; where it may be another's event, each for itself."""
        for refusal in shipment.step.refusals:
            message = shipment.messages[refusal.position]
            topic, partition = place_of(message)
            why, shard, shards = refusal.why, self._shard, self._layout.shards
            if refusal.reason in _BY_SHARD:
                why += f"; in shard {shard} of {shards}" if shards > 1 else ""
            elif partition % shards != shard:
                continue
            rejection = Rejection(topic, partition, offset_of(message), refusal.reason, why)
            self._send_rejection(rejection, message.value(), message.key(), outbox)

    def _send_rejection(self, rejection: Rejection, value: bytes | None, key: bytes | None, outbox: Outbox) -> None:
        """As it came. Of what is too large, where it is must do: it came compressed, or in a topic that takes more."""
        if len(value or b"") + len(key or b"") > _REJECTED_BYTES_MAX:
            value = key = None
        outbox.send(self._names.rejected, value, key, [*rejection.headers])

    def _send_reports(self, ends: dict[Place, End], outbox: Outbox) -> None:
        """Tell of those that no other process has told of."""
        if not self.has_reports:
            return
        before = self._source.view_before(self._reporter)
        seen = reached(before, self._layout)
        for record in self._log.invalid:
            if record.offset >= seen.get(record.partition, 0):
                rejection = Rejection(
                    self._log.topic, record.partition, record.offset, record.invalid.reason, record.invalid.detail
                )
                self._send_rejection(rejection, record.value, record.key, outbox)
        if self._reporter not in ends:
            ends[self._reporter] = self._source.end(self._reporter)
        self.reported = len(self._log.invalid)


def reporter_of(settings: Settings, layout: Layout) -> Place:
    """The event partition whose owner tells of invalid subscriptions, beside which stands how far that went."""
    return min(topic for topic in layout.topics if topic != settings.names.subscriptions), 0


def reached(view: View | None, layout: Layout) -> dict[int, int]:
    """How far each partition of the log was applied at a view of this layout."""
    if view is None or view.layout != layout.number:
        return {}
    return {at.partition: at.offset for at in view.positions}


def subscribers_of(step: Matched, names: Sequence[bytes]) -> dict[int, str]:
    """By number."""
    return {number: names[number].decode() for number in numbers_of(step)}


def numbers_of(step: Matched) -> Iterable[int]:
    numbers: list[int] = np.unique(step.groups.subscribers).tolist()
    return numbers

"""One process's work on its partitions: poll, catch up with the subscriptions, match, send, commit; in this order.

1. A batch of events is polled.
2. Subscriptions are applied up to what is acknowledged now (`SubscriptionLog.catch_up`). That makes a view.
3. The batch is decoded and matched at this view.
4. Notifications, views, rejected events and the batch's offsets are written in one transaction.

Nothing is polled between 1 and 4, so a partition does not change hands in the middle of a transaction. When one is
aborted, the source goes back to what is committed, and the same events come again.
"""

import logging
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace

import numpy as np

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.broker.event_source import EventSource, Place
from tamis.broker.kafka import KafkaException, Message, TopicPartition, consumer, offset_of, place_of
from tamis.broker.matching_step import Bounds, Matched, matched, notifications
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics import Meters
from tamis.broker.outbox import Outbox
from tamis.broker.outlets import Outlet, Outlets
from tamis.broker.pace import Pace
from tamis.broker.rejected_share import RejectedShare
from tamis.broker.starting_points import StartingPoints
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.transactions import RebuildError
from tamis.broker.view_records import ViewRecords
from tamis.codecs.errors import RecordError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.headers import ID, VIEW, Rejection
from tamis.codecs.layout import Layout
from tamis.codecs.view import View

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS = 0.2
_MARKERS_SECONDS = 0.003
"""After a commit its markers are still being written; a transaction that begins earlier waits for longer than this."""
_LEARNING_SECONDS = 5.0
_MAINTENANCE_SECONDS = 0.002
_TELLING_SECONDS = 10.0
_METADATA_MAX = 4095
"""Kafka's bound on what is committed beside an offset."""
_REJECTED_BYTES_MAX = 900_000
"""Of a rejected record that is kept whole: Kafka's own default takes a bit more than a million bytes."""


@dataclass(slots=True)
class Counts:
    """What was committed since the process started."""

    events: int = 0
    notifications: int = 0
    rejected: int = 0
    transactions: int = 0
    aborted: int = 0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is among those of its cluster."""

    layout: Layout
    shard: int
    slot: str


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives the clients of one membership."""

    decoder: EventDecoder
    counts: Counts
    pace: Pace
    meters: Meters = field(default_factory=Meters)


class Worker:
    """Holds the clients of one membership; when they are of no more use, a new worker takes over."""

    def __init__(
        self,
        settings: Settings,
        identity: Identity,
        log: SubscriptionLog,
        kept: Kept,
    ) -> None:
        layout, shard, names = identity.layout, identity.shard, settings.names
        topics = sorted(topic for topic in layout.topics if topic != names.subscriptions)
        self._settings = settings
        self._identity = identity
        self._log = log
        self._decoder = kept.decoder
        self._counts = kept.counts
        self._meters = kept.meters
        self._told = replace(kept.counts)
        self._formats = {topic: section.format() for topic, section in settings.events.items()}
        self._bounds = Bounds(
            settings.broker.batch_notifications, settings.broker.batch_topics, settings.broker.batch_output_bytes
        )
        self._pace = kept.pace
        self._reporter: Place = (topics[0], 0)
        self._views = ViewRecords(layout, shard, names.subscriptions)
        self._rejected = RejectedShare(settings.broker.rejected_share)
        self._assignments = 0
        self._committed_at = self._learnt_at = 0.0
        self._told_at = time.monotonic()
        self._outlets = Outlets(settings)
        self._outbox = Outbox(settings.kafka, names.transactional_id(layout.number, shard, identity.slot))
        self._consumer = consumer(settings.kafka, names.group(layout.number, shard))
        self._source = EventSource(self._consumer, topics, StartingPoints(settings, layout, shard).choose)

    def run(self, must_stop: Callable[[], bool]) -> None:
        """Until it must stop; what was begun is finished."""
        while not must_stop():
            messages = self._source.poll(_IDLE_SECONDS, self._pace.limit)
            pause = self._committed_at + _MARKERS_SECONDS - time.monotonic()
            if messages and pause > 0:
                messages = self._source.gather(messages, pause, self._pace.limit)
            self._meters.turn(self._source, messages, self._log.state)
            self._follow_assignment()
            if messages or self._has_reports():
                self._process(self._within_bytes(messages), len(messages))
            else:
                self._log.drain()
            self._log.state.index.maintain(_MAINTENANCE_SECONDS)
            self._tell()

    def close(self) -> None:
        """Leave the group; what is not committed is aborted by whoever comes under this name next."""
        self._consumer.close()

    def _process(self, messages: Sequence[Message], polled: int) -> None:
        self._meters.began()
        view = self._log.catch_up()
        self._meters.caught_up()
        batch = MessageBatch.of(messages, self._formats)
        step = matched(self._log.state, self._decoder, batch, self._bounds)
        self._meters.matched()
        done = batch.messages[: step.done]
        self._source.hold_back(batch.messages[step.done :])
        verdicts = self._rejected.after(step.done, step.refusals)
        outlets = self._prepared_outlets(step)
        try:
            is_committed = self._is_committed(done, step, view, outlets)
        except RebuildError:
            self._pace.failed(step.done)
            self._meters.failed_to_commit("rebuild")
            raise
        if is_committed:
            self._pace.succeeded(step.done, polled)
            self._rejected.remember(verdicts)
            self._count(step)
            self._meters.sent(step)
            self._meters.finished(batch, step)
        else:
            self._counts.aborted += 1
            self._views.forget()
            time.sleep(self._pace.failed(step.done))
            self._source.rewind()
        self._committed_at = time.monotonic()

    def _is_committed(self, done: Sequence[Message], step: Matched, view: View, outlets: Mapping[int, Outlet]) -> bool:
        """Send what there is to send. If it cannot be committed it is aborted, and nothing of it will be seen."""
        firsts: dict[Place, int] = {}
        ends: dict[Place, int] = {}
        for message in done:
            place, offset = place_of(message), offset_of(message)
            firsts.setdefault(place, offset)
            ends[place] = offset + 1
        self._outbox.begin()
        try:
            self._send_notifications(done, step, view, outlets)
            self._send_rejections(done, step)
            for record in self._views.wanted(firsts, view):
                self._outbox.send(self._settings.names.views, record.encode(), record.key)
            reported = self._send_reports(ends)
        except KafkaException as error:
            self._meters.failed_to_commit(error.args[0].name())
            self._outbox.abort(error)
            return False
        metadata = view.text if len(view.text) <= _METADATA_MAX else ""
        offsets = [TopicPartition(*place, end, metadata) for place, end in ends.items()]
        if not self._outbox.commit(offsets, self._consumer.consumer_group_metadata()):
            self._meters.failed_to_commit("commit")
            self._outbox.abort()
            return False
        for _ in range(reported):
            self._log.invalid.popleft()
        self._meters.reached(ends)
        return True

    def _send_notifications(
        self, done: Sequence[Message], step: Matched, view: View, outlets: Mapping[int, Outlet]
    ) -> None:
        state, header = self._log.state, (VIEW, view.header)
        numbers = step.groups.subscribers.tolist()
        told = notifications(state, step, self._identity.layout.topics, state.subscriber_names(outlets))
        for place, number, (notification_id, value) in zip(step.places, numbers, told, strict=True):
            message, outlet = done[place], outlets[number]
            partition = 0 if outlet.partitions == 1 else outlet.partition(*place_of(message))
            self._outbox.send(outlet.topic, value, message.key(), [(ID, notification_id), header], partition)

    def _send_rejections(self, done: Sequence[Message], step: Matched) -> None:
        """Of several shards, which all see every event, one does."""
        shards = self._identity.layout.shards
        for refusal in step.refusals:
            message = done[refusal.position]
            topic, partition = place_of(message)
            if partition % shards == self._identity.shard:
                rejection = Rejection(topic, partition, offset_of(message), refusal.reason, refusal.why)
                self._send_rejection(rejection, message.value(), message.key())

    def _send_rejection(self, rejection: Rejection, value: bytes | None, key: bytes | None) -> None:
        """As it came. Of what is too large, where it is must do: it came compressed, or in a topic that takes more."""
        if len(value or b"") + len(key or b"") > _REJECTED_BYTES_MAX:
            value = key = None
        self._outbox.send(self._settings.names.rejected, value, key, [*rejection.headers])

    def _has_reports(self) -> bool:
        """Whether there are invalid subscriptions, and it is this process that tells of them.

        Who has the reporter's partition does: how far that went is in the view that is committed there.
        """
        return bool(self._log.invalid) and self._reporter in self._source.owned

    def _send_reports(self, ends: dict[Place, int]) -> int:
        """Tell of those that no other process has told of; how many were looked at."""
        if not self._has_reports():
            return 0
        seen = self._seen(self._reporter)
        for record in self._log.invalid:
            if record.offset >= seen.get(record.partition, 0):
                rejection = Rejection(
                    self._log.topic, record.partition, record.offset, record.invalid.reason, record.invalid.detail
                )
                self._send_rejection(rejection, record.value, record.key)
        ends.setdefault(self._reporter, self._source.position(self._reporter))
        return len(self._log.invalid)

    def _prepared_outlets(self, step: Matched) -> dict[int, Outlet]:
        """By the numbers of the subscribers that a step has."""
        numbers = np.unique(step.groups.subscribers).tolist()
        names = self._log.state.subscriber_names(numbers)
        subscribers = {number: names[number].decode() for number in numbers}
        made = self._outlets.prepare(subscribers.values())
        if made:
            _LOG.info("made topics for %d subscribers, first %s", len(made), made[0])
        return {number: self._outlets.outlet(subscriber) for number, subscriber in subscribers.items()}

    def _follow_assignment(self) -> None:
        if self._source.assignments == self._assignments:
            return
        self._assignments = self._source.assignments
        self._views.forget()
        for place in self._source.owned:
            self._require_log_of(place)

    def _require_log_of(self, place: Place) -> None:
        """Whoever had a partition before cannot have seen more subscriptions than there are."""
        reached = {at.partition: at.offset for at in self._log.catch_up().positions}
        for partition, offset in self._seen(place).items():
            if offset > reached.get(partition, offset):
                raise ConflictError(
                    f"The subscription log went backwards: events of {place[0]} [{place[1]}] were matched at offset "
                    f"{offset} of {self._log.topic} [{partition}], which now ends at {reached[partition]}. "
                    f"Subscriptions are lost; tamis topics set-start {place[0]} goes on with what is left."
                )

    def _seen(self, place: Place) -> dict[int, int]:
        """How far each partition of the log was applied when this one was committed, before it came here."""
        try:
            view = View.parse(self._source.metadata(place))
        except RecordError:
            return {}
        is_ours = view.layout == self._identity.layout.number
        return {at.partition: at.offset for at in view.positions} if is_ours else {}

    def _within_bytes(self, messages: list[Message]) -> list[Message]:
        """As many as one transaction may hold, and one at least; the others are held back."""
        left = self._settings.broker.batch_bytes
        for count, message in enumerate(messages):
            left -= len(message)
            if left < 0 and count > 0:
                self._source.hold_back(messages[count:])
                return messages[:count]
        return messages

    def _count(self, step: Matched) -> None:
        self._counts.events += step.events
        self._counts.notifications += len(step.groups)
        self._counts.rejected += len(step.refusals)
        self._counts.transactions += 1
        if step.refusals:
            _LOG.warning("rejected %d events, the last because %s", len(step.refusals), step.refusals[-1].why)
        if time.monotonic() - self._learnt_at > _LEARNING_SECONDS:
            self._log.state.index.learn(step.batch)
            self._learnt_at = time.monotonic()

    def _tell(self) -> None:
        """Now and then, what was committed since."""
        now = time.monotonic()
        if self._counts == self._told or now - self._told_at < _TELLING_SECONDS:
            return
        since = {
            field.name: getattr(self._counts, field.name) - getattr(self._told, field.name) for field in fields(Counts)
        }
        more = {"seconds": round(now - self._told_at, 1), "subscriptions": len(self._log.state)}
        _LOG.info("committed", extra=since | more)
        self._told, self._told_at = replace(self._counts), now

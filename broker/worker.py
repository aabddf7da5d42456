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
from dataclasses import dataclass, fields, replace

import numpy as np

from tamis.broker.configuration import Settings
from tamis.broker.errors import InvalidError
from tamis.broker.event_source import EventSource, Place
from tamis.broker.kafka import (
    TOO_LARGE,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
    consumer,
    is_fatal,
    offset_of,
    place_of,
)
from tamis.broker.kafka import producer as new_producer
from tamis.broker.matching_step import Bounds, Matched, matched, notifications
from tamis.broker.message_batch import MessageBatch
from tamis.broker.outlets import Outlet, Outlets
from tamis.broker.starting_points import StartingPoints
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.transactions import RebuildError, refuse_if_replaced, transact
from tamis.codecs.errors import RecordError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.headers import ID, VIEW, Rejection
from tamis.codecs.layout import Layout
from tamis.codecs.view import View, ViewRecord

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS = 0.2
_CALL_SECONDS = 10.0
_PRODUCE_SECONDS = 30.0
_FLUSH_SECONDS = 2.0
_MARKERS_SECONDS = 0.003
"""After a commit its markers are still being written; a transaction that begins earlier waits for longer than this."""
_VIEW_SECONDS = 600.0
_LEARNING_SECONDS = 5.0
_MAINTENANCE_SECONDS = 0.002
_TELLING_SECONDS = 10.0
_METADATA_MAX = 4095
_WINDOW = 1000


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


class Worker:
    """Holds the clients of one membership; when they are of no more use, a new worker takes over."""

    def __init__(
        self,
        settings: Settings,
        identity: Identity,
        log: SubscriptionLog,
        decoder: EventDecoder,
        counts: Counts,
    ) -> None:
        layout, names = identity.layout, settings.names
        self._settings = settings
        self._identity = identity
        self._log = log
        self._decoder = decoder
        self._counts = counts
        self._outlets = Outlets(settings)
        self._formats = {topic: section.format() for topic, section in settings.events.items()}
        self._bounds = Bounds(settings.broker.batch_notifications, settings.broker.batch_topics)
        self._topics = sorted(topic for topic in layout.topics if topic != names.subscriptions)
        self._reporter: Place = (self._topics[0], 0)
        self._viewed: dict[Place, tuple[View, float]] = {}
        self._assignments = 0
        self._verdicts: list[bool] = []
        self._judged: list[bool] = []
        self._committed_at = 0.0
        self._learnt_at = 0.0
        self._told = replace(counts)
        self._told_at = time.monotonic()
        self._limit = settings.broker.batch_events
        group = names.group(layout.number, identity.shard)
        transactional_id = names.transactional_id(layout.number, identity.shard, identity.slot)
        self._producer: Producer = new_producer(settings.kafka, transactional_id)
        # Ends what a predecessor of this name left open: only then can it be told where the group stands.
        transact(self._producer.init_transactions, _CALL_SECONDS)
        self._consumer = consumer(settings.kafka, group)
        points = StartingPoints(settings, layout, identity.shard)
        self._source = EventSource(self._consumer, self._topics, points.choose)

    def run(self, must_stop: Callable[[], bool]) -> None:
        """Until it must stop; what was begun is finished."""
        while not must_stop():
            messages = self._source.poll(_IDLE_SECONDS, self._limit)
            pause = self._committed_at + _MARKERS_SECONDS - time.monotonic()
            if messages and pause > 0:
                messages = self._source.gather(messages, pause, self._limit)
            self._follow_assignment()
            if messages or self._has_reports():
                self._process(messages)
            else:
                self._log.drain()
            self._log.state.index.maintain(_MAINTENANCE_SECONDS)
            self._tell()

    def close(self) -> None:
        """Leave the group; what is not committed is aborted by whoever comes under this name next."""
        self._consumer.close()

    def _tell(self) -> None:
        """Now and then, what was committed since."""
        now = time.monotonic()
        if self._counts == self._told or now - self._told_at < _TELLING_SECONDS:
            return
        since = {
            field.name: getattr(self._counts, field.name) - getattr(self._told, field.name) for field in fields(Counts)
        }
        _LOG.info(
            "committed", extra={"seconds": round(now - self._told_at, 1), "subscriptions": len(self._log.state)} | since
        )
        self._told, self._told_at = replace(self._counts), now

    def _follow_assignment(self) -> None:
        if self._source.assignments == self._assignments:
            return
        self._assignments = self._source.assignments
        self._viewed.clear()
        for place in self._source.owned:
            self._check_not_ahead(place)

    def _check_not_ahead(self, place: Place) -> None:
        """Whoever had this partition before cannot have seen more subscriptions than there are."""
        try:
            seen = View.parse(self._source.metadata(place))
        except RecordError:
            return
        ends = {at.partition: at.offset for at in self._log.catch_up().positions}
        for at in seen.positions:
            if seen.layout == self._identity.layout.number and at.offset > ends.get(at.partition, at.offset):
                raise InvalidError(
                    f"The subscription log went backwards: events of {place[0]} [{place[1]}] were matched at offset "
                    f"{at.offset} of {self._log.topic} [{at.partition}], which now ends at {ends[at.partition]}."
                )

    def _process(self, messages: Sequence[Message]) -> None:
        view = self._log.catch_up()
        batch = MessageBatch.of(messages, self._formats)
        step = matched(self._log.state, self._decoder, batch, self._bounds)
        self._source.hold_back(batch.messages[step.done :])
        self._limit = max(
            1, min(self._settings.broker.batch_events, 2 * step.done if step.done < len(batch) else 10**9)
        )
        self._judge(step)
        done = batch.messages[: step.done]
        outlets = self._prepare_outlets(step)
        began = time.monotonic()
        try:
            is_committed = self._commit(done, step, view, outlets)
        except RebuildError as error:
            if error.error is not None:
                refuse_if_replaced(error.error, began)
            raise
        if is_committed:
            self._counts.events += step.events
            self._counts.notifications += len(step.groups)
            self._counts.rejected += len(step.refusals)
            self._counts.transactions += 1
            self._verdicts = self._judged
            self._learn(step)
        else:
            self._counts.aborted += 1
            self._viewed.clear()
            self._source.rewind()
        self._committed_at = time.monotonic()

    def _commit(self, done: Sequence[Message], step: Matched, view: View, outlets: Mapping[int, Outlet]) -> bool:
        """Whether it was committed; else it was aborted, and nothing of it will be seen."""
        producer = self._producer
        transact(producer.begin_transaction)
        ends: dict[Place, int] = {}
        firsts: dict[Place, int] = {}
        for message in done:
            place = place_of(message)
            firsts.setdefault(place, offset_of(message))
            ends[place] = offset_of(message) + 1
        try:
            self._send_notifications(done, step, view, outlets)
            self._send_rejections(done, step)
            self._send_views(firsts, view)
            reported = self._send_reports(ends)
        except KafkaException as error:
            if error.args[0].code() in TOO_LARGE:
                raise InvalidError(f"A notification is too large for Kafka: {error.args[0].str()}.") from error
            if is_fatal(error.args[0]):
                raise RebuildError(error.args[0].str(), error.args[0]) from error
            _LOG.warning("a transaction must be aborted: %s", error.args[0].str())
        else:
            metadata = view.text if len(view.text) <= _METADATA_MAX else ""
            offsets = [TopicPartition(*place, end, metadata) for place, end in ends.items()]
            group = self._consumer.consumer_group_metadata()
            if transact(producer.send_offsets_to_transaction, offsets, group, _CALL_SECONDS) and transact(
                producer.commit_transaction, _CALL_SECONDS
            ):
                for _ in range(reported):
                    self._log.invalid.popleft()
                return True
        # What is still under way would be dropped by the abort, and its sequence numbers be missed afterwards.
        producer.flush(_FLUSH_SECONDS)
        transact(producer.abort_transaction, _CALL_SECONDS)
        return False

    def _prepare_outlets(self, step: Matched) -> dict[int, Outlet]:
        """By the numbers of the subscribers that a step has."""
        numbers = np.unique(step.groups.subscribers).tolist()
        names = self._log.state.subscriber_names(numbers)
        subscribers = {number: names[number].decode() for number in numbers}
        self._outlets.prepare(subscribers.values())
        return {number: self._outlets.outlet(subscriber) for number, subscriber in subscribers.items()}

    def _send_notifications(
        self, done: Sequence[Message], step: Matched, view: View, outlets: Mapping[int, Outlet]
    ) -> None:
        state, header = self._log.state, (VIEW, view.header)
        numbers = step.groups.subscribers.tolist()
        told = notifications(state, step, self._identity.layout.topics, state.subscriber_names(outlets))
        for place, number, (notification_id, value) in zip(step.places, numbers, told, strict=True):
            message, outlet = done[place], outlets[number]
            partition = 0 if outlet.partitions == 1 else outlet.partition(*place_of(message))
            self._produce(outlet.topic, value, message.key(), [(ID, notification_id), header], partition)

    def _send_rejections(self, done: Sequence[Message], step: Matched) -> None:
        names, layout = self._settings.names, self._identity.layout
        for refusal in step.refusals:
            message = done[refusal.position]
            (topic, partition), offset = place_of(message), offset_of(message)
            if partition % layout.shards == self._identity.shard:
                rejection = Rejection(topic, partition, offset, refusal.reason, refusal.why)
                _LOG.warning("rejected %s [%d] %d: %s", topic, partition, offset, refusal.why)
                self._produce(names.rejected, message.value(), message.key(), [*rejection.headers])

    def _send_views(self, firsts: Mapping[Place, int], view: View) -> None:
        now = time.monotonic()
        layout, names = self._identity.layout, self._settings.names
        for place, offset in firsts.items():
            known, since = self._viewed.get(place, (None, 0.0))
            if known == view and now - since < _VIEW_SECONDS:
                continue
            topic, partition = place
            record = ViewRecord(
                self._identity.shard,
                topic,
                layout.topics[topic],
                partition,
                offset,
                layout.rules,
                layout.topics[names.subscriptions],
                view,
            )
            self._produce(names.views, record.encode(), record.key)
            self._viewed[place] = view, now

    def _has_reports(self) -> bool:
        return bool(self._log.invalid) and self._reporter in self._source.owned

    def _send_reports(self, ends: dict[Place, int]) -> int:
        """Tell of invalid subscriptions, those that no other process has told of; how many were looked at.

        One process does: whoever has the reporter's partition, in whose metadata it also is how far that went.
        """
        if not self._has_reports():
            return 0
        told = self._told_before()
        count = len(self._log.invalid)
        for record in self._log.invalid:
            if record.offset >= told.get(record.partition, 0):
                rejection = Rejection(
                    self._log.topic, record.partition, record.offset, record.invalid.reason, record.invalid.detail
                )
                self._produce(self._settings.names.rejected, record.value, record.key, [*rejection.headers])
        ends.setdefault(self._reporter, self._source.position(self._reporter))
        return count

    def _told_before(self) -> dict[int, int]:
        try:
            seen = View.parse(self._source.metadata(self._reporter))
        except RecordError:
            return {}
        if seen.layout != self._identity.layout.number:
            return {}
        return {at.partition: at.offset for at in seen.positions}

    def _produce(
        self,
        topic: str,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, str | bytes | None]] | None = None,
        partition: int = -1,
    ) -> None:
        deadline = time.monotonic() + _PRODUCE_SECONDS
        while True:
            try:
                self._producer.produce(topic, value, key, partition, headers=headers)
            except BufferError:
                if time.monotonic() > deadline:
                    raise RebuildError(f"Kafka took nothing for {_PRODUCE_SECONDS:g} s") from None
                self._producer.poll(0.01)
            else:
                return

    def _judge(self, step: Matched) -> None:
        """Stop if most of what came lately could not be understood: that is a wrong schema, not a wrong event."""
        refused = {refusal.position for refusal in step.refusals}
        lately = [*self._verdicts, *(position in refused for position in range(max(0, step.done - _WINDOW), step.done))]
        wrong = sum(lately[-_WINDOW:])
        if refused and wrong > self._settings.broker.rejected_share * _WINDOW:
            raise InvalidError(
                f"{wrong} of the last {min(_WINDOW, len(lately))} events could not be understood, the last of them so: "
                f"{step.refusals[-1].why}. Is the format of its topic configured rightly? "
                "(broker.rejected_share = 1 goes on all the same.)"
            )
        self._judged = lately[-_WINDOW:]

    def _learn(self, step: Matched) -> None:
        if time.monotonic() - self._learnt_at > _LEARNING_SECONDS:
            self._log.state.index.learn(step.batch)
            self._learnt_at = time.monotonic()

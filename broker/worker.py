"""One process's work on its partitions: poll, catch up with the subscriptions, match, send, commit; in this order.

1. A batch of events is polled.
2. Subscriptions are applied up to what is acknowledged now (`SubscriptionLog.catch_up`). That makes a view.
3. The batch is decoded and matched at this view.
4. Notifications, views, rejected events and the batch's offsets are written in one transaction.

Nothing is polled between 1 and 4, so a partition does not change hands in the middle of a transaction. When one is
aborted, the source goes back to what is committed, and the same events come again. An event that one transaction cannot
hold has several, at one view, and only then the next events come; if one of them fails, or the partition goes, whoever
has it comes back to the event and begins behind the last part that was committed.
"""

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields, replace

from tamis.broker.attempts import Attempts
from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.broker.event_source import EventSource, Place
from tamis.broker.kafka import KafkaException, Message, admin_client, consumer, offset_of, place_of
from tamis.broker.matching_step import Bounds, Matched, matched, within
from tamis.broker.memory import MemoryBound
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics import Meters
from tamis.broker.outbox import Outbox
from tamis.broker.outlets import Outlets
from tamis.broker.pace import Pace
from tamis.broker.reading import TELLING_ENDS
from tamis.broker.rejected_share import RejectedShare
from tamis.broker.shipping import Identity, Shipment, Shipper, reached, subscribers_of
from tamis.broker.snapshots import Snapshots
from tamis.broker.stall_watch import StallWatch, readable_ends
from tamis.broker.starting_points import StartingPoints
from tamis.broker.subscription_log import SubscriptionLog
from tamis.broker.transactions import RebuildError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.reasons import Reason, Refusal
from tamis.codecs.view import View

_LOG = logging.getLogger(__name__)
_IDLE_SECONDS = 0.2
_MARKERS_SECONDS = 0.003
"""After a commit its markers are still being written; a transaction that begins earlier waits for longer than this."""
_LEARNING_SECONDS = 5.0
_MAINTENANCE_SECONDS = 0.002
_TELLING_SECONDS = 10.0


@dataclass(slots=True)
class Counts:
    """What was committed since the process started."""

    events: int = 0
    notifications: int = 0
    """Those that could not be delivered, too."""
    undelivered: int = 0
    rejected: int = 0
    transactions: int = 0
    aborted: int = 0


@dataclass(frozen=True, slots=True)
class Kept:
    """What outlives the clients of one membership."""

    decoder: EventDecoder
    counts: Counts
    pace: Pace
    outlets: Outlets
    snapshots: Snapshots
    memory: MemoryBound
    meters: Meters = field(default_factory=Meters)


@dataclass(frozen=True, slots=True)
class _Task:
    """What is to be shipped, and what it will mean when all of it is."""

    batch: MessageBatch
    step: Matched
    view: View
    bounds: Bounds
    polled: int
    """How many messages there were to choose from."""
    verdicts: list[bool]
    """Whether the last events were rejected."""
    after: str = ""
    """The last subscriber that has its notification, if this is the rest of an event."""


class Worker:
    """Holds the clients of one membership; when they are of no more use, a new worker takes over."""

    def __init__(
        self,
        settings: Settings,
        identity: Identity,
        log: SubscriptionLog,
        kept: Kept,
        attempts: Attempts,
    ) -> None:
        layout, shard, names = identity.layout, identity.shard, settings.names
        topics = sorted(topic for topic in layout.topics if topic != names.subscriptions)
        self._settings = settings
        self._layout = layout
        self._log = log
        self._decoder = kept.decoder
        self._counts = kept.counts
        self._outlets = kept.outlets
        self._meters = kept.meters
        self._snapshots = kept.snapshots
        self._attempts = attempts
        self._memory = kept.memory
        self._told = replace(kept.counts)
        self._formats = {topic: section.format() for topic, section in settings.events.items()}
        self._bounds = Bounds(
            settings.broker.batch_notifications, settings.broker.batch_topics, settings.broker.batch_output_bytes
        )
        self._pace = kept.pace
        self._rejected = RejectedShare(settings.broker.rejected_share)
        self._rest: _Task | None = None
        """Of an event of which a part was committed."""
        self._assignments = 0
        self._committed_at = self._learnt_at = 0.0
        self._told_at = time.monotonic()
        self._outbox = Outbox(settings.kafka, names.transactional_id(layout.number, shard, identity.slot))
        self._consumer = consumer(settings.kafka, names.group(layout.number, shard), TELLING_ENDS)
        stalls = StallWatch(readable_ends(admin_client(settings.kafka)))
        self._source = EventSource(self._consumer, topics, StartingPoints(settings, layout, shard).choose, stalls)
        self._shipper = Shipper(settings, identity, log, self._source)

    def run(self, must_stop: Callable[[], bool]) -> None:
        """Until it must stop; what was begun is finished, but for an event that takes several transactions."""
        while not must_stop():
            if self._rest is not None:
                self._go_on(self._rest)
            else:
                self._take_batch()
            self._outlets.look()
            self._meters.suspended = len(self._outlets.suspended)
            self._log.state.index.maintain(_MAINTENANCE_SECONDS)
            self._snapshots.look(self._log, self._layout, is_keeper=self._shipper.is_reporter)
            self._memory.look(len(self._log.state))
            self._tell()
        self._attempts.end()

    def close(self) -> None:
        """Leave the group; what is not committed is aborted by whoever comes under this name next."""
        self._consumer.close()

    def _take_batch(self) -> None:
        messages = self._source.poll(_IDLE_SECONDS, self._pace.limit)
        pause = self._committed_at + _MARKERS_SECONDS - time.monotonic()
        if messages and pause > 0:
            messages = self._source.gather(messages, pause, self._pace.limit)
        self._meters.turn(self._source, messages, self._log.state)
        self._follow_assignment()
        if messages or self._shipper.has_reports:
            self._process(self._careful(self._within_bytes(messages)), len(messages))
        else:
            self._log.drain()

    def _go_on(self, rest: _Task) -> None:
        """With an event that a transaction could not hold, unless its partition may have gone meanwhile."""
        self._source.hold_back(self._source.poll(0, 1))
        self._meters.turn(self._source, [], self._log.state)
        if self._follow_assignment():
            self._go_back()
        else:
            self._meters.began()
            self._ship(rest)

    def _process(self, messages: Sequence[Message], polled: int) -> None:
        self._meters.began()
        view = self._log.catch_up()
        self._meters.caught_up()
        batch = MessageBatch.of(messages, self._formats)
        bounds = self._bounds.halved(self._pace.failures)
        step = self._matched(batch, bounds)
        self._meters.matched()
        self._source.hold_back(batch.messages[step.done :])
        verdicts = self._rejected.after(step.done, step.refusals)
        self._ship(_Task(batch, step, view, bounds, polled, verdicts))

    def _matched(self, batch: MessageBatch, bounds: Bounds) -> Matched:
        if len(batch) == 1 and self._attempts.is_condemned(batch.messages[0]):
            step = matched(self._log.state, self._decoder, batch.unread(), bounds)
            return replace(step, refusals=[Refusal(0, Reason.POISON, 0)])
        self._attempts.begin(batch.extents(), is_alone=len(batch) == 1)
        return matched(self._log.state, self._decoder, batch, bounds, self._sent_before(batch))

    def _careful(self, messages: list[Message]) -> list[Message]:
        """As many as may be tried together, after what a process of this slot died of."""
        count = self._attempts.harmless(messages)
        if count < len(messages):
            self._source.hold_back(messages[count:])
        return messages[:count]

    def _sent_before(self, batch: MessageBatch) -> dict[int, str]:
        """Up to which subscriber the notifications of the messages at some positions went out before."""
        if not self._source.has_begun_events:
            return {}
        sent = {
            position: self._source.sent_before(place_of(message), offset_of(message))
            for position, message in enumerate(batch.messages)
        }
        return {position: subscriber for position, subscriber in sent.items() if subscriber}

    def _ship(self, task: _Task) -> None:
        """In one transaction as much of it as that may hold."""
        step, rest = within(task.step, task.bounds)
        subscribers = subscribers_of(step, self._log.state.subscriber_names(step.groups.subscribers.tolist()))
        with self._attempts.aside():
            prepared = self._outlets.prepare(subscribers.values())
        outlets = dict(zip(subscribers, prepared, strict=True))
        last = subscribers[int(step.groups.subscribers[-1])] if rest is not None else ""
        shipment = Shipment(task.batch.messages[: step.done], step, task.view, outlets, task.after, last)
        try:
            is_committed = self._is_committed(shipment)
        except RebuildError:
            self._pace.failed(step.done)
            self._meters.failed_to_commit("rebuild")
            raise
        if not is_committed:
            self._counts.aborted += 1
            self._go_back()
        else:
            self._outlets.took(outlets.values())
            ends = shipment.ends()
            self._source.passed(ends)
            if shipment.is_last:
                self._attempts.passed(shipment.messages)
            self._shipper.shipped()
            self._count(shipment)
            self._meters.reached({place: end.offset for place, end in ends.items()})
            self._meters.sent(step)
            for obstacle, count in self._shipper.undelivered.items():
                self._meters.not_delivered(obstacle, count)
            self._rest = None if rest is None else replace(task, step=rest, after=last)
            if self._rest is None:
                self._pace.succeeded(step.done, task.polled)
                self._rejected.remember(task.verdicts)
                self._meters.finished(task.batch, step)
        self._committed_at = time.monotonic()

    def _go_back(self) -> None:
        """To what is committed."""
        self._rest = None
        self._attempts.end()
        self._shipper.forget()
        self._source.rewind()

    def _is_committed(self, shipment: Shipment) -> bool:
        """Send what there is to send. If it cannot be committed it is aborted, and nothing of it will be seen."""
        outbox, outlets = self._outbox, shipment.outlets.values()
        is_blamed = False

        def is_hopeless() -> bool:
            nonlocal is_blamed
            is_blamed = self._outlets.blame(outlets, outbox.failures)
            return is_blamed

        outbox.begin()
        try:
            offsets = self._shipper.ship(shipment, outbox)
            self._attempts.end()
            if outbox.is_sent(is_hopeless) and outbox.commit(offsets, self._consumer.consumer_group_metadata()):
                return True
            is_blamed = is_blamed or (bool(outbox.failures) and is_hopeless())
        except KafkaException as error:
            _LOG.warning("a transaction must be aborted: %s", error.args[0].str())
            is_blamed = is_hopeless()
        except RebuildError:
            if not outbox.failures or not is_hopeless():
                raise
        self._meters.failed_to_commit("undeliverable" if is_blamed else "commit")
        if is_blamed:
            outbox.renew()
        else:
            outbox.abort()
            time.sleep(self._pace.failed(shipment.step.done))
        return False

    def _follow_assignment(self) -> bool:
        """Whether partitions came or went."""
        if self._source.assignments == self._assignments:
            return False
        self._assignments = self._source.assignments
        self._shipper.forget()
        for place in self._source.owned:
            self._require_log_of(place)
        return True

    def _require_log_of(self, place: Place) -> None:
        """Whoever had a partition before cannot have seen more subscriptions than there are."""
        ends = {at.partition: at.offset for at in self._log.catch_up().positions}
        for partition, offset in reached(self._source.view_before(place), self._layout).items():
            if offset > ends.get(partition, offset):
                raise ConflictError(
                    f"The subscription log went backwards: events of {place[0]} [{place[1]}] were matched at offset "
                    f"{offset} of {self._log.topic} [{partition}], which now ends at {ends[partition]}. "
                    f"Subscriptions are lost; tamis topics set-start {place[0]} goes on with what is left."
                )

    def _within_bytes(self, messages: list[Message]) -> list[Message]:
        """As many as one transaction may hold, and one at least; the others are held back."""
        left = self._settings.broker.batch_bytes
        for count, message in enumerate(messages):
            left -= len(message)
            if left < 0 and count > 0:
                self._source.hold_back(messages[count:])
                return messages[:count]
        return messages

    def _count(self, shipment: Shipment) -> None:
        step = shipment.step
        self._counts.notifications += len(step.groups)
        self._counts.undelivered += self._shipper.undelivered.total()
        self._counts.transactions += 1
        if not shipment.is_last:
            return
        self._counts.events += step.events
        self._counts.rejected += len(step.refusals)
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

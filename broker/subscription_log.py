"""The log of subscriptions, as one process follows it: to its end at the start, and to its end before each batch.

Asking for the end *after* a batch was polled is what makes subscribing immediate: a subscription that Kafka had
acknowledged before an event was sent lies below an end that is asked for after the event came. So the end is never
remembered from before, and nothing is matched before all below it is applied.
"""

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.attempts import Attempts
from tamis.broker.configuration import Settings
from tamis.broker.errors import InvalidError, UnreachableError
from tamis.broker.judgement import InvalidRecord
from tamis.broker.kafka import (
    LOG_WENT_BACK,
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
    admin_client,
    end_offsets,
    is_end_of_partition,
    is_fatal,
    leader_epoch_of,
    offset_of,
    reader,
)
from tamis.broker.metrics import Meters
from tamis.broker.quarantine import WHY, Quarantine
from tamis.broker.reading import BEGINNING, TELLING_ENDS
from tamis.broker.snapshot_loading import Restored
from tamis.broker.subscription_state import SubscriptionState
from tamis.broker.topic_watch import TopicWatch
from tamis.broker.transactions import is_forbidden, last_word
from tamis.codecs.layout import Layout
from tamis.codecs.reasons import Reason
from tamis.codecs.view import Position, View

_BATCH = 10_000
_WAIT_SECONDS = 0.05
_PATIENCE_SECONDS = 60.0
_WARNING_SECONDS = 5.0
_RENEWAL_SECONDS = 20.0
_UNREPORTED_MAX = 1_000
_REPORTED_BYTES_MAX = 64 * 1024
"""Of a record that is told whole: many may have to be remembered."""
_CONDEMNED_MAX = 8

_LOG = logging.getLogger(__name__)


class LogWentBackError(Exception):
    """Records that were applied are no longer in the log: what was built on them is void."""


@dataclass(frozen=True, slots=True)
class InvalidSubscription:
    """A record of the log that is no subscription, as it came; without its value, if that is large."""

    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    invalid: InvalidRecord


@dataclass(slots=True)
class _Reached:
    offset: int
    leader_epoch: int = -1


class SubscriptionLog:
    """Follows the partitions of one shard, and applies what is in them to a state that it owns."""

    def __init__(
        self,
        settings: Settings,
        layout: Layout,
        shard: int,
        meters: Meters | None = None,
        restored: Restored | None = None,
    ) -> None:
        """From its beginning, or from where a snapshot was made."""
        self.topic = settings.names.subscriptions
        self.partitions = [number for number in range(layout.partitions) if number % layout.shards == shard]
        if restored is None:
            self.state = SubscriptionState(layout, settings.broker.engine, settings.notifications.format)
            self._reached = {partition: _Reached(0) for partition in self.partitions}
        else:
            self.state = restored.state
            self._reached = {at.partition: _Reached(at.offset, at.leader_epoch) for at in restored.view.positions}
        self.invalid: deque[InvalidSubscription] = deque(maxlen=_UNREPORTED_MAX)
        """The newest that were met, for whoever reports them."""
        self.applied = 0
        """How many records."""
        self.attempts: Attempts | None = None
        """With these, what processes died of is left out, and paused for all."""
        self._quarantine = Quarantine(settings)
        self._left_out: set[tuple[int, int]] = set()
        """Partitions and offsets since the end of the log was reached last."""
        self._reads_all = restored is None
        """Whether it is the whole log that was read since then."""
        self._meters = meters or Meters()
        self._meters.reads()
        self._layout = layout
        self._settings = settings.kafka
        self._admin = admin_client(settings.kafka)
        self._watch = TopicWatch(self._admin, layout.topics)
        self._view: View | None = None
        self._client = self._new_client()

    def watch(self, topics: Mapping[str, str]) -> None:
        """These are the topics and their ids from now on."""
        self._watch = TopicWatch(self._admin, topics)

    def close(self) -> None:
        self._client.close()

    def _new_client(self) -> Consumer:
        """Which goes on where this is."""
        client = reader(self._settings, self.topic, TELLING_ENDS)
        client.assign([self._start(partition) for partition in self.partitions])
        return client

    def _renew_client(self) -> None:
        """One that has stopped fetching (`stall_watch`) never reads on; else another one is as good."""
        client, self._client = self._client, self._new_client()
        client.close()

    def _start(self, partition: int) -> TopicPartition:
        """With the epoch of the last leader, by which a log is noticed that was cut back and grew again."""
        at = self._reached[partition]
        if at.offset == 0:
            return TopicPartition(self.topic, partition, BEGINNING)
        return TopicPartition(self.topic, partition, at.offset, leader_epoch=at.leader_epoch)

    @property
    def view(self) -> View:
        """How far each partition was applied."""
        if self._view is None:
            positions = [Position(number, at.offset, at.leader_epoch) for number, at in sorted(self._reached.items())]
            self._view = View(self._layout.number, positions)
        return self._view

    def catch_up(self, tell: Callable[[int, int], None] | None = None, patience: float = _PATIENCE_SECONDS) -> View:
        """Apply all that is acknowledged now, and return the view that this makes.

        `tell` is given how many offsets are done, and how many there are. UnreachableError if the end cannot be
        reached: a partition has no leader, or somebody's transaction is open in the log. ConflictError if it is another
        log than the layout's.
        """
        self._read_to(self._ends(time.monotonic() + patience), tell, patience)
        while self._quarantine:
            self._quarantine.impose()
            self._read_to(self._ends(time.monotonic() + patience), tell, patience)
        if self.attempts is not None and (self._left_out or self._reads_all):
            self.attempts.settle(self.topic, self._left_out, are_all=self._reads_all)
            self._left_out, self._reads_all = set(), False
        self._meters.read()
        return self.view

    def _read_to(self, ends: Mapping[int, int], tell: Callable[[int, int], None] | None, patience: float) -> None:
        started = warned = renewed = time.monotonic()
        first = {partition: self._reached[partition].offset for partition in self.partitions}
        for partition, end in ends.items():
            if end < self._reached[partition].offset:
                raise LogWentBackError(
                    f"{self.topic} [{partition}] ends at {end}, but was applied up to {self._reached[partition].offset}"
                )
        while behind := [number for number, end in ends.items() if self._reached[number].offset < end]:
            moved = self._apply(self._take(_WAIT_SECONDS))
            now = time.monotonic()
            if moved:
                started = renewed = now
                if tell is not None:
                    done = sum(min(self._reached[number].offset, end) - first[number] for number, end in ends.items())
                    tell(done, sum(end - first[number] for number, end in ends.items()))
            elif now - started > patience:
                raise UnreachableError(f"{self._told(behind, ends)} for {patience:g} s. {_STALLED}")
            elif now - renewed > _RENEWAL_SECONDS:
                renewed = now
                _LOG.warning("%s. Reading on with a new client", self._told(behind, ends))
                self._renew_client()
            elif now - warned > _WARNING_SECONDS:
                warned = now
                self._meters.waits(self._told(behind, ends))
                _LOG.warning("%s. %s", self._told(behind, ends), _STALLED)

    def drain(self) -> None:
        """Apply what is here already, without asking for more."""
        self._apply(self._take(0))

    def _ends(self, deadline: float) -> Mapping[int, int]:
        while True:
            try:
                ends = end_offsets(self._admin, self.topic, self.partitions)
                self._watch.require_same()  # afterwards: then it was the same when its ends were told
            except KafkaException as error:
                if is_forbidden(error.args[0]):
                    raise last_word(error.args[0]) from error
                if time.monotonic() > deadline:
                    raise UnreachableError(
                        f"The end of {self.topic} cannot be learnt: {error.args[0].str()}"
                    ) from error
                _LOG.warning("the end of %s cannot be learnt, trying again: %s", self.topic, error.args[0].str())
                time.sleep(_WAIT_SECONDS)
            else:
                return ends

    def _take(self, seconds: float) -> list[Message]:
        """What is here; if nothing is, the first that comes in time."""
        messages = self._client.consume(_BATCH, 0)
        if messages or seconds <= 0:
            return messages
        first = self._client.poll(seconds)
        return [] if first is None else [first, *self._client.consume(_BATCH, 0)]

    def _apply(self, messages: Iterable[Message]) -> bool:
        """Whether anything was reached that had not been."""
        parts: dict[int, list[Message]] = {}
        moved = False
        for message in messages:
            partition = message.partition()
            if partition is None:
                continue
            if self._is_record(message):
                parts.setdefault(partition, []).append(message)
            moved = True
        for partition, part in parts.items():
            self._try(partition, part)
        return moved

    def _try(self, partition: int, messages: list[Message]) -> None:
        """With care for what a process of this slot died of."""
        attempts = self.attempts
        if attempts is None:
            self._apply_part(partition, messages)
            return
        while messages:
            count = attempts.harmless(messages)
            some, messages = messages[:count], messages[count:]
            if count == 1 and attempts.is_condemned(some[0]):
                self._leave_out(partition, some[0], attempts)
                continue
            extent = offset_of(some[0]), offset_of(some[-1])
            attempts.begin({(self.topic, partition): extent}, is_alone=count == 1)
            try:
                self._apply_part(partition, some)
            except MemoryError:  # which all of them have used up, and not these
                attempts.end()
                raise
            attempts.end()
            attempts.passed(some)

    def _is_record(self, message: Message) -> bool:
        """Else it may say that there is no more just now, and how far that is: behind markers and compacted records."""
        error = message.error()
        if error is None:
            return True
        if error.code() in LOG_WENT_BACK:
            raise LogWentBackError(f"{self.topic} [{message.partition()}]: {error.str()}")
        if is_end_of_partition(error):
            reached = self._reached[message.partition() or 0]
            if offset_of(message) > reached.offset:
                reached.offset = offset_of(message)
                self._view = None
        elif is_forbidden(error):
            raise last_word(error)
        elif is_fatal(error):
            raise KafkaException(error)
        else:
            _LOG.warning("%s [%s]: %s", self.topic, message.partition(), error.str())
        return False

    def _leave_out(self, partition: int, message: Message, attempts: Attempts) -> None:
        """As if it took away what its key had. InvalidError if it is one of many."""
        if attempts.condemned(self.topic) > _CONDEMNED_MAX:
            attempts.pardon(self.topic)
            raise InvalidError(
                f"This slot has died of more than {_CONDEMNED_MAX} subscriptions within a day. That is no poison but "
                "something else, too little memory above all: no more of them are paused. Give it more, and start it "
                "again: it will try once more those that are not paused yet."
            )
        self._left_out.add((partition, offset_of(message)))
        self.state.apply(partition, [message.key()], [None])
        self._note_invalid(partition, message, InvalidRecord(0, Reason.POISON, WHY))
        self._reach(partition, [message])
        self._quarantine.add(partition, message.key(), message.value())

    def _apply_part(self, partition: int, messages: list[Message]) -> None:
        began = time.perf_counter()
        keys = [message.key() for message in messages]
        values = [message.value() for message in messages]
        for record in self.state.apply(partition, keys, values):
            self._note_invalid(partition, messages[record.position], record)
        self._quarantine.replaced(partition, keys)
        self._reach(partition, messages)
        self._meters.applied(len(messages), time.perf_counter() - began)

    def _note_invalid(self, partition: int, message: Message, record: InvalidRecord) -> None:
        offset, value = offset_of(message), message.value()
        self._meters.invalid_subscriptions.add(record.reason)
        _LOG.warning("invalid subscription at %s [%d] %d: %s", self.topic, partition, offset, record.detail)
        if len(self.invalid) == _UNREPORTED_MAX:
            _LOG.error("more than %d invalid subscriptions wait to be told: the oldest will not be", _UNREPORTED_MAX)
        told = value if value is None or len(value) <= _REPORTED_BYTES_MAX else None
        self.invalid.append(InvalidSubscription(partition, offset, message.key(), told, record))

    def _reach(self, partition: int, messages: list[Message]) -> None:
        last = messages[-1]
        reached = self._reached[partition]
        reached.offset = max(reached.offset, offset_of(last) + 1)
        reached.leader_epoch = leader_epoch_of(last)
        self.applied += len(messages)
        self._view = None

    def _told(self, behind: Iterable[int], ends: Mapping[int, int]) -> str:
        places = ", ".join(f"[{number}] at {self._reached[number].offset} of {ends[number]}" for number in behind)
        return f"{self.topic} cannot be read to its end: {places}"


_STALLED = "A partition without a leader, or a transaction that somebody left open in it, has this effect."

"""What a broker process counts and how it is: the one object that its worker, log and service tell what they do.

They say what has happened, in the words of their own work; which metrics that makes is decided in `metrics_families`,
and whether the process is well in `health`. One thread writes, by whole batches and in plain numbers; others only read,
so there are no locks: what is replaced as a whole or is one number can be read at any time.
"""

import time
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from tamis.broker.event_source import EventSource, Place
from tamis.broker.kafka import KafkaException, Message, offset_of, place_of
from tamis.broker.matching_step import Matched
from tamis.broker.message_batch import MessageBatch
from tamis.broker.metrics_text import Histogram
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.layout import Layout
from tamis.codecs.reasons import Reason
from tamis.codecs.undelivered import Obstacle

OTHER = "other"
_REASONS_MAX = 100
"""Of one metric; what comes beyond is counted as another one, since each is a series that is kept for long."""
_MEASURING_SECONDS = 5.0
_FEW = 32
"""Up to so many a loop is faster than numpy is to call."""
_SHORT = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_LONG = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 1800.0, 7200.0)
_EVENTS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000)


class Reasons(Counter[str]):
    """Counts by reason; those that are known beforehand are there from the start, so that a first one is seen."""

    def __init__(self, known: Collection[str] = ()) -> None:
        super().__init__(dict.fromkeys(known, 0))

    def add(self, reason: str, count: int = 1) -> None:
        self[reason if reason in self or len(self) < _REASONS_MAX else OTHER] += count


@dataclass(frozen=True, slots=True)
class Reading:
    """How far the subscriptions are read, for the first time or once more."""

    done: int = 0
    total: int | None = None
    """None as long as nobody knows."""


class Meters:
    """Of one process, from its start to its end. What it has is to be read, and written by its methods alone."""

    def __init__(self, engine: str = "", shard: int = 0) -> None:
        self.engine = engine
        self.shard = shard
        # What was committed.
        self.events: Counter[str] = Counter()
        """By topic; what is aborted comes again, and is counted once."""
        self.rejected = Reasons(list(Reason))
        self.unmatched = self.matches = 0
        self.candidates = 0
        """Subscriptions that the engine had to look at."""
        self.notifications = 0
        self.undelivered = Reasons(list(Obstacle))
        self.suspended = 0
        """Subscribers to whom nothing is sent just now."""
        self.transactions = 0
        self.aborted = Reasons(["commit", "rebuild", "undeliverable"])
        self.aborted_in_a_row = 0
        self.batch_events = Histogram(_EVENTS)
        self.barrier_seconds = Histogram(_SHORT)
        self.match_seconds = Histogram(_SHORT)
        self.transaction_seconds = Histogram(_SHORT)
        self.delivery_seconds = Histogram(_LONG)
        # Subscriptions.
        self.subscriptions = 0
        self.subscription_records = 0
        self.invalid_subscriptions = Reasons()
        self.apply_seconds = Histogram(_SHORT)
        self.index_bytes: Mapping[str, int] = {}
        self.snapshot_at: float | None = None
        """When the newest one was made, in seconds since 1970."""
        self.snapshot_failures = 0
        """Times that no snapshot could be kept."""
        self.snapshot_seconds = Histogram(_LONG)
        self.freeze_seconds = Histogram(_SHORT)
        # How it is.
        self.turned_at = time.monotonic()
        self.memberships = 0
        self.joined_at = 0.0
        self.layout: Layout | None = None
        """By which it works; None while it is in no group."""
        self.shards: int | None = None
        """Of the layout that it works by, or did last; None before the first."""
        self.positions: dict[Place, int] = {}
        """Of the partitions that it owns: the offset that it has committed, or begun at."""
        self.drained: Mapping[Place, int] = {}
        """Of those that had nothing more when it last looked, where that was: behind markers of transactions, too."""
        self.reading: Reading | None = Reading()
        """None if all subscriptions are applied."""
        self.stalled = ""
        """Why it cannot read subscriptions to their end just now."""
        self.failure = ""
        """Why it has to start again with new clients."""
        self._assignments = 0
        self._measured_at = self._lap_at = 0.0

    # The worker tells.

    def turn(self, source: EventSource, messages: Sequence[Message], state: SubscriptionState) -> None:
        """One turn of its loop, with what was polled."""
        now = self.turned_at = time.monotonic()
        self.subscriptions = len(state)
        if source.assignments != self._assignments:
            self._assignments = source.assignments
            self.positions = _positions(source, messages)
        if now - self._measured_at > _MEASURING_SECONDS:
            self._measured_at = now
            self.index_bytes = {**state.index.memory_bytes(), **state.memory_bytes()}
            self.drained = source.drained(self.positions)

    def began(self) -> None:
        """A batch is in hand."""
        self._lap_at = time.perf_counter()

    def caught_up(self) -> None:
        """Subscriptions are applied up to what was acknowledged."""
        self.barrier_seconds.observe(self._lap())

    def matched(self) -> None:
        """The batch is decoded and matched; what comes now is its transaction."""
        self.match_seconds.observe(self._lap())

    def reached(self, ends: Mapping[Place, int]) -> None:
        """These offsets are committed, of partitions that it owns."""
        self.positions.update((place, end) for place, end in ends.items() if place in self.positions)

    def sent(self, step: Matched) -> None:
        """A transaction with notifications of it is committed: one of several, if an event has too many for one."""
        self.transaction_seconds.observe(self._lap())
        self.transactions += 1
        self.aborted_in_a_row = 0
        self.matches += len(step.groups.ids)
        self.notifications += len(step.groups)

    def finished(self, batch: MessageBatch, step: Matched) -> None:
        """All of the step is committed, and its messages are done."""
        self.batch_events.observe(step.done)
        left, now = step.done, time.time()
        for part in batch.parts:
            stamps = np.asarray(part.timestamps[:left])
            left -= len(stamps)
            self.events[part.topic] += len(stamps)
            # One that is ahead of this machine's clock was delivered at once, as far as can be told.
            if len(stamps) <= _FEW:
                for stamp in stamps.tolist():
                    if stamp >= 0:
                        self.delivery_seconds.observe(max(now - stamp / 1000, 0.0))
            else:
                self.delivery_seconds.observe_all(np.maximum(now - stamps[stamps >= 0] / 1000, 0))
        for refusal in step.refusals:
            self.rejected.add(refusal.reason)
        self.unmatched += step.events - _distinct(step.groups.events)
        self.candidates += step.candidates

    def failed_to_commit(self, reason: str) -> None:
        """A transaction was aborted, and its events come again."""
        self.aborted.add(reason.lower().lstrip("_"))
        self.aborted_in_a_row += 1

    def not_delivered(self, reason: str, count: int = 1) -> None:
        """Notifications that went to the topic of what could not be delivered, and why."""
        self.undelivered.add(reason.lower().lstrip("_"), count)

    # The log tells.

    def applied(self, records: int, seconds: float) -> None:
        """Records of subscriptions are in force."""
        self.subscription_records += records
        self.apply_seconds.observe(seconds)

    def waits(self, why: str) -> None:
        """The end of the log cannot be reached for some time now."""
        self.turned_at = time.monotonic()
        self.stalled = why

    def read(self) -> None:
        """The end of the log is reached."""
        self.reading = None
        self.stalled = ""

    # The service tells.

    def reads(self, done: int = 0, total: int | None = None) -> None:
        """It reads the log from its beginning, and is so far."""
        self.turned_at = time.monotonic()
        self.reading = Reading(done, total)

    def joins(self, layout: Layout) -> None:
        """It makes new clients, and joins its group."""
        self.turned_at = self.joined_at = time.monotonic()
        self.memberships += 1
        self._assignments = 0
        self.failure = ""
        self.layout = layout
        self.shards = layout.shards

    def left(self) -> None:
        """Its clients are of no more use, or it is done."""
        self.layout = None
        self.positions = {}
        self.drained = {}

    def fails(self, error: BaseException) -> None:
        """It will start again with new clients."""
        self.turned_at = time.monotonic()
        cause = error.args[0].str() if isinstance(error, KafkaException) else str(error)
        self.failure = cause or type(error).__name__

    def froze(self, seconds: float) -> None:
        """For so long matching waited for the beginning of a snapshot."""
        self.freeze_seconds.observe(seconds)

    def snapshot_taken(self, at: float, seconds: float) -> None:
        """Saved or loaded: when it was made (seconds since 1970), and how long that took."""
        self.snapshot_at = at
        self.snapshot_seconds.observe(seconds)

    def snapshot_known(self, at: float | None) -> None:
        """When the newest that Redis has was made; None if it has none, or another process keeps them."""
        self.snapshot_at = at

    def failed_to_keep_a_snapshot(self) -> None:
        self.snapshot_failures += 1

    def _lap(self) -> float:
        """Seconds since the last time."""
        before, self._lap_at = self._lap_at, time.perf_counter()
        return self._lap_at - before


def _distinct(ascending: npt.NDArray[np.uint32]) -> int:
    if len(ascending) <= _FEW:
        return len(set(ascending.tolist()))
    return int(np.count_nonzero(ascending[1:] != ascending[:-1])) + 1


def _positions(source: EventSource, messages: Sequence[Message]) -> dict[Place, int]:
    """What is polled and in hand is not committed yet."""
    positions = {place: source.position(place) for place in source.owned}
    for message in messages:
        place = place_of(message)
        if place in positions:
            positions[place] = min(positions[place], offset_of(message))
    return positions

"""Sending what waits in `tamis.undelivered` after all: each once, whatever ends it on the way.

1. Become the one retrier there is (`RetryOutbox`). Whoever was it before can commit nothing any more.
2. Read the topic to its end: what waits is what nothing settles.
3. Send it in its order, some at a time, each with the record that settles it in the same transaction.

A notification whose topic cannot take it is left waiting, and told; the others go on. When the outbox is of no more
use, all of it begins anew, since somebody else may have retried in between.
"""

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

from tamis.broker.configuration import Settings
from tamis.broker.errors import UnreachableError
from tamis.broker.interrupts import interrupts_deferred
from tamis.broker.kafka import TOO_LARGE
from tamis.broker.settling import committed, complete
from tamis.broker.transactions import RebuildError
from tamis.broker.undelivered import ReceivedUndelivered, waiting
from tamis.broker.undelivered_batches import Pending
from tamis.broker.undelivered_outbox import RetryOutbox
from tamis.broker.undelivered_ready import Preparation, Ready
from tamis.broker.undelivered_targets import Hindrance, Target, Targets
from tamis.codecs.headers import WaitingPlace
from tamis.codecs.undelivered import Obstacle

_TRIES = 5
"""In vain, one after the other."""

Progress = Callable[[int], None]
"""Takes how many more are sent."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What is to be sent."""

    subscribers: Collection[str] = ()
    """Whose; none: everybody's."""
    make_topics: bool = False
    """Whether topics that are missing are made again."""


@dataclass(slots=True)
class Left:
    """Notifications of one subscriber that wait on, for one reason."""

    count: int
    detail: str
    """Of the first one."""


@dataclass(slots=True)
class RetryReport:
    """What became of what waited; of a dry run, what would become of it."""

    sent: Counter[str] = field(default_factory=Counter[str])
    """By subscriber."""
    left: dict[tuple[str, str], Left] = field(default_factory=dict[tuple[str, str], Left])
    """By subscriber and reason."""
    made: list[str] = field(default_factory=list[str])
    """Topics."""

    def leave(self, subscriber: str, hindrance: Hindrance) -> None:
        left = self.left.setdefault((subscriber, hindrance.reason), Left(0, hindrance.detail))
        left.count += 1


def rehearse(settings: Settings, wanted: Wanted, seconds: float = 10.0) -> RetryReport:
    """What `retry` would do just now; nothing is changed."""
    report = RetryReport()
    preparation = Preparation(settings, Targets(settings, make_missing=wanted.make_topics, only_tell=True))
    stretch = committed(settings.kafka, settings.names.undelivered, seconds)
    for some in waiting(stretch, stretch.settled(), wanted.subscribers):
        preparation.targets.look_at(one.subscriber for one in some)
        for received in some:
            prepared = preparation.prepared(received)
            if isinstance(prepared, Ready):
                prepared = _sized(prepared, preparation.targets)
            if isinstance(prepared, Ready):
                report.sent[prepared.subscriber] += 1
            else:
                report.leave(received.subscriber, prepared)
    report.made = preparation.targets.made
    return report


def retry(settings: Settings, wanted: Wanted, report: RetryReport, progress: Progress) -> None:
    """Send what waits. The report is kept true on the way: it stands also if this ends with an error.

    ConflictError if another retrier begins meanwhile, UnreachableError if Kafka takes nothing any more.
    """
    retrier = _Retrier(settings, wanted, report, progress)
    failures, achieved = 0, 0
    while True:
        try:
            retrier.run()
        except RebuildError as error:
            failures = failures + 1 if retrier.achieved == achieved else 1
            achieved = retrier.achieved
            if failures == _TRIES:
                raise UnreachableError(f"Kafka does not take what waits: {error}. Try again later.") from error
        else:
            return


class _Retrier:
    def __init__(self, settings: Settings, wanted: Wanted, report: RetryReport, progress: Progress) -> None:
        self.achieved = 0
        """Goes up with whatever brings the end nearer."""
        self._settings = settings
        self._wanted = wanted
        self._report = report
        self._progress = progress
        self._targets = Targets(settings, make_missing=wanted.make_topics)
        self._vain = 0
        """How many transactions were aborted, one after the other, without telling what to leave out."""
        self._too_large: dict[WaitingPlace, Hindrance] = {}
        """What Kafka said of those that it was asked about one by one."""
        self._doubtful: Sequence[Ready] = ()
        """Sent in a transaction of which nobody knows whether it is committed."""

    def run(self) -> None:
        """With an outbox of its own, from the start to the end."""
        outbox = RetryOutbox(self._settings)
        stretch = complete(self._settings.kafka, self._settings.names.undelivered)
        settled = stretch.settled()
        self._count([ready for ready in self._doubtful if ready.place in settled])
        self._doubtful = ()
        self._vain = 0
        self._report.left.clear()
        targets = self._targets
        targets.forget()
        preparation = Preparation(self._settings, targets)
        pending = Pending(targets)
        try:
            for some in waiting(stretch, settled, self._wanted.subscribers):
                targets.look_at(one.subscriber for one in some)
                for received in some:
                    self._take(received, preparation, pending)
                    while pending.is_full:
                        self._send_some(pending, outbox)
            while pending:
                self._send_some(pending, outbox)
        finally:
            self._report.made = targets.made

    def _take(self, received: ReceivedUndelivered, preparation: Preparation, pending: Pending) -> None:
        prepared = self._too_large.get(received.place) or preparation.prepared(received)
        if isinstance(prepared, Ready):
            pending.add(prepared)
        else:
            self._report.leave(received.subscriber, prepared)

    @interrupts_deferred()
    def _send_some(self, pending: Pending, outbox: RetryOutbox) -> None:
        batch = pending.first()
        try:
            done = outbox.is_committed(batch)
        except RebuildError:
            if outbox.is_committing:
                self._doubtful = batch
            self._learn(batch, outbox)
            raise
        if done:
            self._vain = 0
            pending.drop(len(batch))
            self._count(batch)
            return
        # Once Kafka has refused a record for its size, it misses its number, and refuses the next transaction for that.
        self._vain = 0 if self._learn(batch, outbox) else self._vain + 1
        if self._vain == _TRIES:
            reasons = [error.str() for error in outbox.refused.values()]
            raise RebuildError(f"a transaction was aborted: {reasons[0] if reasons else 'nobody told why'}")
        self._targets.look_at(ready.subscriber for ready in pending)
        for ready, hindrance in pending.sort_out(self._too_large):
            self._report.leave(ready.subscriber, hindrance)

    def _learn(self, batch: Sequence[Ready], outbox: RetryOutbox) -> bool:
        """Whether what Kafka said to the records of a transaction tells how to do without some of them."""
        learnt = 0
        too_large: dict[str, list[Ready]] = {}
        for ready in batch:
            error = outbox.refused.get(ready.place)
            if error is None:
                continue
            if error.code() in TOO_LARGE:
                too_large.setdefault(ready.subscriber, []).append(ready)
            else:
                learnt += self._targets.learn(ready.subscriber, error)
        for subscriber, some in too_large.items():
            learnt += 1
            if len(some) == 1:
                place = some[0].place
                self._too_large[place] = Hindrance(Obstacle.TOO_LARGE, outbox.refused[place].str())
            else:
                self._targets.narrow(subscriber, sum(ready.size for ready in some))
        self.achieved += learnt
        return learnt > 0

    def _count(self, sent: Sequence[Ready]) -> None:
        self._report.sent.update(ready.subscriber for ready in sent)
        self._progress(len(sent))
        self.achieved += len(sent)


def _sized(ready: Ready, targets: Targets) -> Ready | Hindrance:
    target = targets.of(ready.subscriber)
    if isinstance(target, Target) and not target.takes(ready.size):
        detail = f"{target.topic} takes {target.bytes_max} bytes, and it has {ready.size} before compression"
        return Hindrance(Obstacle.TOO_LARGE, detail)
    return ready

"""Events of the partitions that this process owns, each once, from where the group stands.

The client is never left to choose where to start: during a rebalance it may take an offset that it could not fetch in
time for one that does not exist, and would then read everything again, or lose what is there.
"""

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from tamis.broker.errors import BrokerError, ConflictError
from tamis.broker.kafka import (
    LOG_WENT_BACK,
    NOT_FETCHING,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    TopicPartition,
    is_end_of_partition,
    is_fatal,
    offset_of,
    place_of,
)
from tamis.broker.stall_watch import StallWatch
from tamis.broker.transactions import RebuildError, Verdict, is_forbidden, last_word, refuse, verdict
from tamis.codecs.errors import RecordError
from tamis.codecs.view import Progress, View

_COMMITTED_SECONDS = 30.0
_NO_PROGRESS = Progress()
_LOG = logging.getLogger(__name__)

Place = tuple[str, int]
"""Topic and partition."""
Policy = Callable[[Sequence[TopicPartition]], None]
"""Is given partitions with what is committed, and sets the offset of those for which nothing is."""


class End(NamedTuple):
    """How far a partition's events are done."""

    offset: int
    """The next one's."""
    after: str = ""
    """Of that one, up to which subscriber the notifications are out."""
    leader_epoch: int = -1
    """Of the last record that was read, by which a log is noticed that was cut back and grew again; -1: not known."""


class EventSource:
    """What a member of a group polls: no record that was processed before, none of a partition that has gone."""

    def __init__(
        self, client: Consumer, topics: Sequence[str], on_first_start: Policy, stalls: StallWatch | None = None
    ) -> None:
        """The client tells of the ends of partitions, if a watch is kept whether it has stalled."""
        self._client = client
        self._stalls = stalls
        self._ends: dict[Place, int] = {}
        """Where there was no more: behind markers, too, and what is no event."""
        self._on_first_start = on_first_start
        self._next: dict[Place, int] = {}
        self._progress: dict[Place, tuple[int, Progress]] = {}
        """What was committed when a partition came, or was gone back in, and at which offset."""
        self._epochs: dict[Place, int] = {}
        """Of the last record before what is committed, the leader's."""
        self._unproven: dict[Place, TopicPartition] = {}
        """Where partitions begin whose log may be another one than what was committed is about."""
        self._held: list[Message] = []
        self._gone: set[Place] = set()
        """That went since the last poll began."""
        self._failure: BaseException | None = None
        self.assignments = 0
        """How often partitions came or went."""
        client.subscribe(list(topics), on_assign=self._assigned, on_revoke=self._revoked, on_lost=self._lost)

    @property
    def owned(self) -> Iterable[Place]:
        return self._next.keys()

    def view_before(self, place: Place) -> View | None:
        """What the events before the place where a partition was begun were matched at, as far as it is known."""
        return self._progress[place][1].view if place in self._progress else None

    def sent_before(self, place: Place, offset: int) -> str:
        """Up to which subscriber the notifications of an event went out before; empty if none did."""
        begun, progress = self._progress.get(place, (-1, _NO_PROGRESS))
        return progress.after if begun == offset else ""

    @property
    def has_begun_events(self) -> bool:
        """Whether there are events of which some notifications went out before."""
        return any(progress.after for _, progress in self._progress.values())

    def passed(self, ends: Mapping[Place, End]) -> None:
        """The events before these offsets are done: nothing more is to be known of them."""
        for place, end in ends.items():
            self._epochs[place] = end.leader_epoch
            begun, progress = self._progress.get(place, (-1, _NO_PROGRESS))
            if progress.after and end.offset > begun:
                self._progress[place] = begun, Progress(progress.view)

    def end(self, place: Place) -> End:
        """How far a partition is done of which there is nothing in hand."""
        offset = self.position(place)
        return End(offset, self.sent_before(place, offset), self._epochs[place])

    def position(self, place: Place) -> int:
        """The next offset of a partition that was handed out or held back."""
        return min(
            (offset_of(message) for message in self._held if place_of(message) == place), default=self._next[place]
        )

    def drained(self, committed: Mapping[Place, int]) -> dict[Place, int]:
        """Where the log ends, of the partitions of which all that came is committed: markers may lie in between."""
        return {
            place: end
            for place, end in self._ends.items()
            if place in self._next and committed.get(place, -1) >= self._next[place]
        }

    def poll(self, seconds: float, most: int) -> list[Message]:
        """What is held back and what comes: the first of it in so many seconds, the rest if it is here already."""
        self._gone.clear()
        # Also where there is enough: it is in here that the client hears of partitions that come and go.
        first = self._client.poll(0 if self._held else seconds)
        self._accept(first)
        self._prove()
        if len(self._held) < most:
            self._accept(*self._client.consume(most - len(self._held), 0))
        if first is None and not self._held and self._stalls is not None:
            self._stalls.look({place: max(at, self._ends.get(place, 0)) for place, at in self._next.items()})
        return self._released(most)

    def gather(self, messages: list[Message], seconds: float, most: int) -> list[Message]:
        """These, as far as they are still owned, and what else comes in so many seconds."""
        self._gone.clear()
        self._held[:0] = messages
        if len(self._held) < most:
            self._accept(*self._client.consume(most - len(self._held), seconds))
        return self._released(most)

    def hold_back(self, messages: Sequence[Message]) -> None:
        """Take back what there was no room for: the next time it comes first."""
        self._held[:0] = messages

    def rewind(self) -> None:
        """Go back to what is committed, after an abort. Forgetting this would lose events."""
        self._held.clear()
        self._ends.clear()
        if not self._next:
            return
        for place in self._committed([TopicPartition(*place) for place in self._next]):
            if place.offset < 0:
                raise RebuildError(f"no offset is committed for {place.topic} [{place.partition}], which was begun")
            self._next[place.topic, place.partition] = place.offset
            self._unproven.pop((place.topic, place.partition), None)
            self._remember(place)
            try:
                self._client.seek(place)
            except KafkaException as error:
                refuse(error)

    def _prove(self) -> None:
        """Have the log compared with what is committed: a client compares nothing where a member's partition begins.

        But it does where one goes to a place and an epoch. What came before that is read again.
        """
        for place, start in list(self._unproven.items()):
            try:
                self._client.seek(start)
            except KafkaException as error:
                if error.args[0].code() not in NOT_FETCHING:
                    refuse(error)
            else:
                del self._unproven[place]

    def _released(self, most: int) -> list[Message]:
        if self._failure is not None:
            raise self._failure
        released, self._held = self._held[:most], self._held[most:]
        return released

    def _accept(self, *messages: Message | None) -> None:
        if self._failure is not None:
            return
        for message in messages:
            if message is None:
                continue
            error = message.error()
            if error is not None:
                self._tell(message, error)
                continue
            place, offset = place_of(message), offset_of(message)
            # One poll may hand out what it fetched before a partition went and came back, and then fetch it again.
            if offset >= self._next.get(place, offset + 1) and place not in self._unproven:
                self._next[place] = offset + 1
                self._held.append(message)

    def _tell(self, message: Message, error: KafkaError) -> None:
        """Raise what the client cannot get over by itself."""
        if is_end_of_partition(error):
            self._ends[place_of(message)] = offset_of(message)
            return
        if is_forbidden(error) or verdict(error) is Verdict.STOP:
            raise last_word(error)
        if error.code() in LOG_WENT_BACK:
            raise ConflictError(
                f"Events of {message.topic()} [{message.partition()}] are gone that were not matched: "
                f"{error.str()}. tamis topics set-start says where to go on."
            )
        if is_fatal(error):
            raise RebuildError(error.str())
        _LOG.warning("while polling events: %s", error.str())

    def _assigned(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        # What is raised here would not come out of the poll that this is called by.
        try:
            self._refuse_returned(partitions)
            starts = self._committed(partitions)
            for start in starts:
                self._remember(start)
            fresh = [start for start in starts if start.offset < 0]
            if fresh:
                self._on_first_start(fresh)
            client.incremental_assign(starts)
            if fresh:
                client.commit(offsets=fresh, asynchronous=False)
            for at in starts:
                place = at.topic, at.partition
                self._next[place] = at.offset
                self._ends.pop(place, None)  # which may have been told when it had gone
                if self._epochs[place] >= 0:
                    self._unproven[place] = at
            self.assignments += 1
            _LOG.info("assigned %s", ", ".join(f"{at.topic} [{at.partition}] from {at.offset}" for at in starts))
        except (BrokerError, RebuildError) as error:
            self._failure = error
        except KafkaException as error:
            self._failure = RebuildError(error.args[0].str())

    def _revoked(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        self._forget(partitions)
        client.incremental_unassign(partitions)
        _LOG.info("revoked %s", _told(partitions))

    def _lost(self, client: Consumer, partitions: list[TopicPartition]) -> None:
        self._forget(partitions)
        client.incremental_unassign(partitions)
        _LOG.warning("lost %s", _told(partitions))

    def _refuse_returned(self, partitions: Iterable[TopicPartition]) -> None:
        """One poll may still hand out what it had fetched before, beyond what was dropped when they went."""
        if any((place.topic, place.partition) in self._gone for place in partitions):
            raise RebuildError("partitions went and came back within one poll")

    def _forget(self, partitions: Iterable[TopicPartition]) -> None:
        places = {(partition.topic, partition.partition) for partition in partitions}
        self._gone |= places
        for place in places:
            for known in (self._next, self._progress, self._epochs, self._unproven):
                known.pop(place, None)
        self._held = [message for message in self._held if place_of(message) in self._next]
        self.assignments += 1

    def _remember(self, committed: TopicPartition) -> None:
        try:
            progress = Progress.parse(committed.metadata or "")
        except RecordError as error:
            _LOG.warning("beside the offset of %s stands what Tamis has not written: %s", _told([committed]), error)
            progress = _NO_PROGRESS
        self._progress[committed.topic, committed.partition] = committed.offset, progress
        epoch: int | None = committed.leader_epoch
        self._epochs[committed.topic, committed.partition] = -1 if epoch is None else epoch

    def _committed(self, partitions: Sequence[TopicPartition]) -> list[TopicPartition]:
        """Waits while a predecessor's transaction is being decided."""
        if not partitions:
            return []
        try:
            found = self._client.committed(list(partitions), _COMMITTED_SECONDS)
        except KafkaException as error:
            refuse(error)
        for place in found:
            if place.error is not None:
                raise RebuildError(f"committed offsets cannot be learnt: {place.error.str()}")
        return found


def _told(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(f"{partition.topic} [{partition.partition}]" for partition in partitions)

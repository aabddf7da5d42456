"""Following a topic, from a place to a place or on and on: committed records only."""

import time
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass
from itertools import chain

from tamis.broker.configuration import KafkaSettings
from tamis.broker.errors import UnreachableError
from tamis.broker.following import Follower
from tamis.broker.kafka import (
    Consumer,
    KafkaException,
    Message,
    TopicPartition,
    admin_client,
    is_end,
    offset_of,
    place_of,
    reader,
)
from tamis.broker.positions import END, START, Position, resolved
from tamis.broker.reading import TO_THE_END, partitions_known_to
from tamis.broker.transactions import is_forbidden, last_word

_AT_ONCE = 5000
_POLL_SECONDS = 0.2
_SILENCE_SECONDS = 30.0
_FURTHER = 4


@dataclass(frozen=True, slots=True)
class Extent:
    """From where to where, and what else ends it."""

    start: Position | None = None
    """By default the start if there is an end, else what comes next."""
    end: Position | None = None
    """Exclusive; what is there now is the furthest. None: on and on."""
    count: int | None = None
    seconds: float | None = None

    @property
    def first(self) -> Position:
        if self.start is not None:
            return self.start
        return END if self.end is None else START


def tail(settings: KafkaSettings, topic: str, extent: Extent, patience: float = 10.0) -> Iterator[list[Message]]:
    """Records as they come, some at a time; of one partition in its order. MissingError if there is no such topic.

    UnreachableError if Kafka does not tell in so many seconds where the topic begins and ends.
    """
    admin = admin_client(settings)
    partitions = partitions_known_to(admin, settings, topic, patience)

    def offsets(position: Position) -> dict[int, int]:
        found = resolved(admin, topic, partitions, position, patience)
        if not position.before_end:
            return found
        lows, ends = (resolved(admin, topic, partitions, place, patience) for place in (START, END))
        bounds = {number: (lows[number], found[number], ends[number]) for number in partitions}
        return _so_many_records_before(settings, topic, position.before_end, bounds)

    starts = offsets(extent.first)
    ends = None if extent.end is None else offsets(extent.end)
    left = extent.count
    if left == 0:
        return
    for messages in between(settings, topic, starts, ends, extent.seconds):
        some = messages[:left]
        yield some
        if left is not None:
            left -= len(some)
            if left == 0:
                return


def between(
    settings: KafkaSettings,
    topic: str,
    starts: Mapping[int, int],
    ends: Mapping[int, int] | None,
    seconds: float | None = None,
) -> Iterator[list[Message]]:
    """Records of partitions from offsets to offsets (exclusive); without ends, whatever comes.

    It is over after so many seconds. UnreachableError if there are ends and they are not reached by then.
    """
    try:
        if ends is None:
            yield from _following(settings, topic, starts, seconds)
        else:
            yield from _up_to(settings, topic, starts, ends, seconds)
    except KafkaException as error:
        if is_forbidden(error.args[0]):
            raise last_word(error.args[0]) from error
        raise UnreachableError(f"{topic} cannot be read: {error.args[0].str()}") from error


def _following(
    settings: KafkaSettings, topic: str, starts: Mapping[int, int], seconds: float | None
) -> Iterator[list[Message]]:
    began = time.monotonic()
    with closing(Follower(settings, {(topic, number): at for number, at in starts.items()})) as follower:
        while seconds is None or time.monotonic() - began < seconds:
            messages = follower.poll(_POLL_SECONDS, _AT_ONCE)
            for message in messages:
                if (error := message.error()) is not None:
                    raise KafkaException(error)
            if messages:
                yield messages


def _up_to(
    settings: KafkaSettings, topic: str, starts: Mapping[int, int], ends: Mapping[int, int], seconds: float | None
) -> Iterator[list[Message]]:
    open_partitions = {number for number, start in starts.items() if start < ends[number]}
    if not open_partitions:
        return
    with closing(reader(settings, topic, TO_THE_END)) as client:
        client.assign([TopicPartition(topic, number, starts[number]) for number in sorted(open_partitions)])
        for messages in _polled(client, seconds):
            some = _kept(messages, ends, open_partitions)
            if some:
                yield some
            if not open_partitions:
                return
    raise UnreachableError(f"{topic} was not read to its end in {seconds:g} s.")


def _so_many_records_before(
    settings: KafkaSettings, topic: str, count: int, bounds: Mapping[int, tuple[int, int, int]]
) -> dict[int, int]:
    """Of each partition, the offset of the so-manieth record before its end, by its low, a first guess and its end.

    Offsets tell no number of records: transaction markers, aborted records and what compaction took have some too. So
    records are counted from the guess on, and from ever further back until there are enough.
    """
    found: dict[int, int] = {}
    guesses = {number: guess for number, (_, guess, _) in bounds.items()}
    while guesses:
        last: dict[int, deque[int]] = {number: deque(maxlen=count) for number in guesses}
        ends = {number: bounds[number][2] for number in guesses}
        for message in chain.from_iterable(between(settings, topic, guesses, ends)):
            last[place_of(message)[1]].append(offset_of(message))
        further: dict[int, int] = {}
        for number, guess in guesses.items():
            low, _, end = bounds[number]
            if len(last[number]) == count or guess <= low:
                found[number] = last[number][0] if last[number] else end
            else:
                further[number] = max(low, end - _FURTHER * (end - guess))
        guesses = further
    return found


def _polled(client: Consumer, seconds: float | None) -> Iterator[list[Message]]:
    began = heard = time.monotonic()
    while seconds is None or time.monotonic() - began < seconds:
        first = client.poll(_POLL_SECONDS)
        if first is not None:
            yield [first, *client.consume(_AT_ONCE, 0)]
            heard = time.monotonic()  # only now: whoever takes it may take long over it
        elif time.monotonic() - heard > _SILENCE_SECONDS:
            raise UnreachableError(f"Kafka sent nothing for {_SILENCE_SECONDS:g} s, and more was there.")


def _kept(messages: list[Message], ends: Mapping[int, int], open_partitions: set[int]) -> list[Message]:
    """Those before the end of their partition; where that is reached, the partition is closed.

    Kafka's word that nothing more is there counts as the end too: the last offsets may be transaction markers, or
    compacted away, and then no record ever comes to tell.
    """
    kept = []
    for message in messages:
        _, partition = place_of(message)
        if is_end(message):
            open_partitions.discard(partition)
        elif partition in open_partitions:
            left = ends[partition] - offset_of(message)
            if left > 0:
                kept.append(message)
            if left <= 1:
                open_partitions.discard(partition)
    return kept

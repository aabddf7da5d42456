"""What a process is at, written down outside of it: so that its successor knows what it died of.

Before events are decoded, matched and encoded, and before subscriptions are applied, their places are written to a
file that is mapped into memory, and then taken out again. It costs microseconds, and the system keeps it whatever
becomes of the process. Who finds places in the file of its slot knows that its predecessor died, or was ended, in the
midst of them. It takes these in parts of a hundredth, so that an end that had nothing to do with them costs little;
and so on, with the part that it dies of. The event that it dies of alone, for the second time, is rejected unread; the
subscription is left out and paused.

What is in the file is no promise: a file that is lost or damaged costs a death more.
"""

import json
import logging
import mmap
import os
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tamis.broker.errors import InvalidError
from tamis.broker.event_source import Place
from tamis.broker.kafka import Message, offset_of, place_of
from tamis.broker.slots import state_folder

_SIZE = 1 << 20
_DEATHS_MAX = 2
_PARTS = 100
_RECENT_SECONDS = 24 * 60 * 60
_LOG = logging.getLogger(__name__)

Spot = tuple[str, int, int]
"""A message: topic, partition, offset."""


class Attempts:
    """Of one slot: only its process reads and writes the file."""

    def __init__(self, name: str, topics: Mapping[str, str], folder: Path | None = None) -> None:
        """Topics by name, with their ids. InvalidError if the file cannot be kept."""
        path = (folder or state_folder()) / "attempts" / name
        try:
            self._memory = _mapped(path)
        except OSError as error:
            raise InvalidError(
                f"{path} cannot be kept: {error.strerror}. Make room there, or name another folder: TAMIS_STATE_DIR."
            ) from error
        self._topics = dict(topics)
        self._suspects: dict[Place, tuple[int, int]] = {}
        """The first and the last offset of what a predecessor died in, by partition."""
        self._deaths: dict[Spot, int] = {}
        """Of messages that were alone when it died."""
        self._settled: dict[Spot, float] = {}
        """Those of which all others know, and since when, in seconds since 1970."""
        self._now: Mapping[Place, tuple[int, int]] = {}
        self._is_alone = False
        self._is_full = False
        self._recall()

    def close(self) -> None:
        """What is in hand stays written down: the process may end because of it."""
        self._memory.close()

    def know(self, topics: Mapping[str, str]) -> None:
        """These are the topics and their ids now. In one that was made anew, the same offsets are other messages."""
        self._forget_all_but({topic for topic, its_id in topics.items() if self._topics.get(topic, its_id) == its_id})
        self._topics = dict(topics)
        self._write()

    def forget(self, topic: str) -> None:
        """It went backwards: at the same offsets there are other messages now, or will be."""
        self._forget_all_but(self._topics.keys() - {topic})
        self._write()

    @property
    def is_suspicious(self) -> bool:
        """Whether there is anything to be careful with."""
        return bool(self._suspects or self._deaths)

    def harmless(self, messages: Sequence[Message]) -> int:
        """How many of the first messages may be taken together: those before the first suspect, or a part of these."""
        if not self._may_concern(messages):
            return len(messages)
        first = self._part(messages[0])
        for count, message in enumerate(messages):
            part = self._part(message)
            if (part > 0) != (first > 0) or (part > 0 and count >= min(first, part)):
                return max(1, count)
        return len(messages)

    def is_condemned(self, message: Message) -> bool:
        """Whether it is not to be tried again."""
        return bool(self._deaths) and self._deaths.get(_spot(message), 0) >= _DEATHS_MAX

    def condemned(self, topic: str) -> int:
        """How many of this topic are not to be tried again, of those of the last day."""
        now = time.time()
        return sum(
            spot[0] == topic and deaths >= _DEATHS_MAX and 0 <= now - self._settled.get(spot, now) < _RECENT_SECONDS
            for spot, deaths in self._deaths.items()
        )

    def settle(self, topic: str, offsets: Collection[tuple[int, int]], *, are_all: bool) -> None:
        """Of these partitions and offsets all others know; and there are no more of the topic, if these are all."""
        if are_all:
            self._suspects = {place: pair for place, pair in self._suspects.items() if place[0] != topic}
        for spot in [spot for spot in self._deaths if spot[0] == topic]:
            if spot[1:] in offsets:
                self._settled.setdefault(spot, time.time())
            elif are_all:
                del self._deaths[spot]
                self._settled.pop(spot, None)
        self._write()

    def pardon(self, topic: str) -> None:
        """Messages of which nobody else knows yet are tried again."""
        self._deaths = {
            spot: deaths for spot, deaths in self._deaths.items() if spot[0] != topic or spot in self._settled
        }
        self._write()

    def begin(self, extents: Mapping[Place, tuple[int, int]], *, is_alone: bool) -> None:
        """What is between these offsets, which may be one message alone, is in hand from now on."""
        self._now, self._is_alone = extents, is_alone
        self._write()

    def end(self) -> None:
        """They did no harm: what comes now is Kafka's affair."""
        self._now = {}
        if self.is_suspicious:
            self._write()
        else:
            self._memory[0] = 0

    @contextmanager
    def aside(self) -> Iterator[None]:
        """What happens meanwhile has nothing to do with what is in hand."""
        if self.is_suspicious:
            now, self._now = self._now, {}
            self._write()
            yield
            self._now = now
            self._write()
        else:  # costs nothing
            first = self._memory[0]
            self._memory[0] = 0
            yield
            self._memory[0] = first

    def passed(self, messages: Sequence[Message]) -> None:
        """They are done with: they did no harm, or will not come again."""
        if not self._may_concern(messages):
            return
        for message in messages:
            place, offset = place_of(message), offset_of(message)
            self._deaths.pop(_spot(message), None)
            self._settled.pop(_spot(message), None)
            if offset >= self._suspects.get(place, (0, offset + 1))[1]:
                del self._suspects[place]
        self._now = {}
        self._write()

    def _may_concern(self, messages: Sequence[Message]) -> bool:
        """Whether any is of a topic that there is something about. Most often there is nothing, and none is asked."""
        if not self.is_suspicious:
            return False
        topics = {message.topic() for message in messages}
        return any(topic in topics for topic, *_ in (*self._suspects, *self._deaths))

    def _forget_all_but(self, topics: Collection[str]) -> None:
        self._suspects = {place: pair for place, pair in self._suspects.items() if place[0] in topics}
        self._deaths = {spot: deaths for spot, deaths in self._deaths.items() if spot[0] in topics}
        self._settled = {spot: at for spot, at in self._settled.items() if spot in self._deaths}

    def _part(self, message: Message) -> int:
        """With how many others it may be tried, itself included; 0 if it is no suspect."""
        if _spot(message) in self._deaths:
            return 1
        first, last = self._suspects.get(place_of(message), (0, -1))
        return max(1, (last - first + 1) // _PARTS) if first <= offset_of(message) <= last else 0

    def _recall(self) -> None:
        """Make of what a predecessor left what there is to be careful with."""
        end = self._memory.find(b"\0")
        if end <= 0:
            return
        try:
            told: dict[str, Any] = json.loads(self._memory[:end])
            spots = [(str(topic), int(partition), int(offset)) for topic, partition, offset in told["now"]]
            for topic, partition, first, last in told["suspects"]:
                self._suspects[str(topic), int(partition)] = int(first), int(last)
            for topic, partition, offset, deaths in told["deaths"]:
                self._deaths[str(topic), int(partition), int(offset)] = int(deaths)
            for topic, partition, offset, at in told.get("settled", ()):
                self._settled[str(topic), int(partition), int(offset)] = float(at)
            ids = {str(topic): str(its_id) for topic, its_id in told.get("topics", self._topics).items()}
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
            _LOG.warning("what this slot was at last cannot be read")
            self._forget_all_but(())
            return
        if told.get("alone") and spots:
            (spot,) = spots[:1]
            self._deaths[spot] = self._deaths.get(spot, 0) + 1
            told_of = f"{spot[0]} [{spot[1]}] {spot[2]}"
            if self._deaths[spot] >= _DEATHS_MAX:
                _LOG.error("this slot died %d times of %s alone: it will be rejected", self._deaths[spot], told_of)
            else:
                _LOG.warning("this slot died in the midst of %s: trying it once more, alone", told_of)
        elif spots:
            for place in {(topic, partition) for topic, partition, _ in spots}:
                offsets = [offset for *there, offset in spots if tuple(there) == place]
                self._suspects[place] = min(offsets), max(offsets)
            _LOG.warning("this slot died in the midst of a batch: trying it in small parts")
        self._forget_all_but({topic for topic, its_id in self._topics.items() if ids.get(topic) == its_id})
        self._write()

    def _write(self) -> None:
        """Of a batch the first and the last message of each partition are enough."""
        told = {
            "now": [[*place, offset] for place, pair in self._now.items() for offset in dict.fromkeys(pair)],
            "alone": self._is_alone,
            "suspects": [[*place, *pair] for place, pair in self._suspects.items()],
            "deaths": [[*spot, deaths] for spot, deaths in self._deaths.items()],
            "settled": [[*spot, at] for spot, at in self._settled.items()],
            "topics": self._topics,
        }
        text = json.dumps(told).encode() + b"\0"
        if len(text) > _SIZE:
            text = b"\0"
            if not self._is_full:
                self._is_full = True
                _LOG.warning("what is in hand has too many partitions to be written down: poison would not be found")
        # The first byte last: who dies in between leaves nothing that could be taken for something.
        self._memory[0] = 0
        self._memory[1 : len(text)] = text[1:]
        self._memory[0] = text[0]


def _spot(message: Message) -> Spot:
    return *place_of(message), offset_of(message)


def _mapped(path: Path) -> mmap.mmap:
    """Its blocks are all there: where a disk is full, writing to others would kill the process, and tell nobody why."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644), "r+b") as file:
        content = file.read(_SIZE)
        file.seek(0)
        file.write(content.ljust(_SIZE, b"\0"))
        file.flush()
        return mmap.mmap(file.fileno(), _SIZE)

"""Places in topics as people name them: `start`, `end`, an offset, so many before the end, a time, so long ago."""

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Self

from tamis.broker.errors import InvalidError, MissingError, UnreachableError
from tamis.broker.kafka import (
    EARLIEST,
    LATEST,
    UNSETTLED,
    AdminClient,
    IsolationLevel,
    KafkaError,
    KafkaException,
    OffsetSpec,
    TopicPartition,
    learn_leaders,
)

_OFFSET = re.compile(r"[0-9]{1,19}", re.ASCII)
_BEFORE_END = re.compile(r"-[0-9]{1,19}", re.ASCII)
_AGO = re.compile(r"-((?:[0-9]{1,12}(?:ms|[smhdw]))+)", re.ASCII)
_PART = re.compile(r"([0-9]+)(ms|[smhdw])", re.ASCII)
_UNITS = {
    "ms": timedelta(milliseconds=1),
    "s": timedelta(seconds=1),
    "m": timedelta(minutes=1),
    "h": timedelta(hours=1),
    "d": timedelta(days=1),
    "w": timedelta(weeks=1),
}
_OFFSET_MAX = 2**63 - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_GONE = KafkaError.UNKNOWN_TOPIC_OR_PART
_RETRY_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Position:
    """One place in each partition of a topic. At most one of the numbers is set; with none it is the end."""

    offset: int | None = None
    before_end: int | None = None
    """So many records; `resolved` counts offsets, of which transaction markers have some too."""
    milliseconds: int | None = None
    """Since 1970: the first record whose Kafka timestamp is not before this."""

    @classmethod
    def parse(cls, text: str, now: datetime | None = None) -> Self:
        """`start`, `end`, `17`, `-10`, `2026-11-18T08:00` (UTC where it names no zone), `-1h30m`. Else InvalidError."""
        text = text.strip()
        if text == "start":
            return cls(offset=0)
        if text == "end":
            return cls()
        if _OFFSET.fullmatch(text):
            return cls(offset=min(int(text), _OFFSET_MAX))
        if _BEFORE_END.fullmatch(text):
            return cls(before_end=min(-int(text), _OFFSET_MAX))
        moment = _time_of(text, datetime.now(UTC) if now is None else now)
        return cls(milliseconds=max(0, (moment - _EPOCH) // timedelta(milliseconds=1)))

    def clipped(self, low: int, end: int) -> int:
        """The offset in a partition that has these bounds; a time is resolved by Kafka."""
        if self.before_end is not None:
            return max(low, end - self.before_end)
        return end if self.offset is None else min(max(low, self.offset), end)


START = Position(offset=0)
END = Position()


def resolved(
    admin: AdminClient, topic: str, partitions: Iterable[int], position: Position, seconds: float = 10.0
) -> dict[int, int]:
    """The offset in each partition, between its first record and its end, which is what is committed just now."""
    places = [TopicPartition(topic, partition) for partition in partitions]
    lows = _asked(admin, dict.fromkeys(places, EARLIEST), seconds)
    ends = _asked(admin, dict.fromkeys(places, LATEST), seconds)
    if position.milliseconds is None:
        return {partition: position.clipped(lows[partition], end) for partition, end in ends.items()}
    found = _asked(admin, dict.fromkeys(places, OffsetSpec.for_timestamp(position.milliseconds)), seconds)
    return {
        partition: end if found[partition] < 0 else min(max(lows[partition], found[partition]), end)
        for partition, end in ends.items()
    }


def _asked(admin: AdminClient, asked: Mapping[TopicPartition, OffsetSpec], seconds: float) -> dict[int, int]:
    """A partition whose leader is only just becoming one is asked again, for so many seconds."""
    found: dict[int, int] = {}
    deadline = time.monotonic() + seconds
    left = dict(asked)
    while left:
        futures = admin.list_offsets(left, isolation_level=IsolationLevel.READ_COMMITTED, request_timeout=seconds)
        unsettled: dict[TopicPartition, OffsetSpec] = {}
        for place, future in futures.items():
            try:
                found[place.partition] = future.result().offset
            except KafkaException as error:
                if error.args[0].code() not in UNSETTLED or time.monotonic() > deadline:
                    raise _refused(place, error.args[0]) from error
                unsettled[place] = left[place]
        left = unsettled
        if left:
            time.sleep(_RETRY_SECONDS)
            for topic in {place.topic for place in left}:
                learn_leaders(admin, topic)
    return found


def _refused(place: TopicPartition, error: KafkaError) -> MissingError | UnreachableError:
    if error.code() == _GONE:
        return MissingError(f"There is no partition {place.partition} of topic {place.topic}.")
    return UnreachableError(f"Kafka does not tell the offsets of {place.topic} [{place.partition}]: {error.str()}")


def _time_of(text: str, now: datetime) -> datetime:
    ago = _AGO.fullmatch(text)
    try:
        if ago is not None:
            return now - sum((int(count) * _UNITS[unit] for count, unit in _PART.findall(ago[1])), timedelta())
        moment = datetime.fromisoformat(text)
    except (ValueError, OverflowError):
        raise InvalidError(
            f"{text!r} is no position: there are start, end, an offset (17), offsets before the end (-10), "
            "a time (2026-11-18T08:00, in UTC unless it ends in a zone such as +01:00), and so long ago (-1h, -1h30m)."
        ) from None
    return moment if moment.tzinfo is not None else moment.replace(tzinfo=UTC)

"""Every version of every subscription, and up to which view each was in force.

A record of the subscription topic at an offset puts a version in force for the views behind it, up to the offset of the
next record of its key: one written at 7 and again at 12 holds at views 8 to 12. The records are judged as the broker
judges them, by the same function; what it takes as an unsubscription ends a version and begins none.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from tamis.broker.judgement import judged
from tamis.codecs.layout import Layout
from tamis.indexes.expressions import Expression

ALWAYS = -1
"""As the offset of a version that holds at every view from the first one on."""
FOREVER = (1 << 63) - 1


class LogPlace(NamedTuple):
    """A partition of a subscription topic. One that was made anew has another id, and is another log."""

    subscriptions_id: str
    partition: int


NO_LOG = LogPlace("", 0)


@dataclass(slots=True)
class Version:
    """A subscription as it was for a while."""

    key: str
    """`subscriber/name`."""
    expression: Expression
    tags: Mapping[str, str] = field(default_factory=dict)
    scores: bool = False
    place: LogPlace = NO_LOG
    since: int = ALWAYS
    """The offset of its record: it holds at views behind this,"""
    until: int = FOREVER
    """and up to this, which is the offset of the next record of its key."""

    @property
    def subscriber(self) -> str:
        return self.key.partition("/")[0]


@dataclass(frozen=True, slots=True)
class Window:
    """The positions, in one partition of the log, of the views that are asked for."""

    low: int = 0
    high: int = FOREVER

    def concerns(self, version: Version) -> bool:
        """Whether the version may hold at one of them."""
        return version.since < self.high and version.until >= self.low


class PartitionLog:
    """Follows one partition from its first record on; keeps the versions that concern a window."""

    def __init__(self, place: LogPlace, layout: Layout, window: Window) -> None:
        self._place = place
        self._layout = layout
        self._window = window
        self._open: dict[str, Version] = {}
        self._ended: list[Version] = []

    def apply(self, offsets: Sequence[int], keys: Sequence[bytes | None], values: Sequence[bytes | None]) -> None:
        """Records in the order of their offsets, behind those of the calls before."""
        judgement = judged(self._place.partition, keys, values, self._layout)
        columns = judgement.columns
        begun = {position: (place, parsed) for position, place, parsed in judgement.in_force()}
        for position, key in judgement.replaced():
            offset = offsets[position]
            self._end(key, offset)
            if position in begun:
                place, parsed = begun[position]
                self._open[key] = Version(
                    key,
                    judgement.expressions[parsed],
                    columns.tags[place],
                    bool(columns.scores[place]),
                    self._place,
                    offset,
                )

    def versions(self) -> Iterator[Version]:
        """Those that may hold at a view of the window."""
        yield from self._ended
        yield from filter(self._window.concerns, self._open.values())

    def _end(self, key: str, offset: int) -> None:
        version = self._open.pop(key, None)
        if version is not None:
            version.until = offset
            if self._window.concerns(version):
                self._ended.append(version)

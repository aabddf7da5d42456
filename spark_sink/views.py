"""At which view each event was matched, as `tamis.views` tells it.

A record says that events of a partition were matched by a shard at a view, from an offset on; it holds until the next
one. Where a record is told for a place that an earlier one was told for already, the partition went back (`tamis topics
set-start`), and the later one counts from there on.

An event whose notifications went out in several transactions may have two views: a record's `after` names the last
subscriber who had the one before.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.broker.errors import ConflictError, MissingError
from tamis.codecs import rules
from tamis.codecs.layout import Layout
from tamis.codecs.view import View, ViewRecord
from tamis.spark_sink.versions import LogPlace, Window

NO_VIEW = -1


class Source(NamedTuple):
    """An event partition, as one shard sees it. A topic that was made anew has another id, and is another one."""

    topic_id: str
    partition: int
    shard: int


class Mark(NamedTuple):
    """From where on a view holds."""

    offset: int
    after: bytes
    view: int
    """A place among all that were told."""


class ToldView(NamedTuple):
    """A view, the log that it is of, and the rules that it was made by."""

    subscriptions_id: str
    rules: str
    view: View


class ViewHistory:
    """The marks of each source, ascending, and the views that they are of, each once."""

    def __init__(self) -> None:
        self.views: list[ToldView] = []
        self.marks: dict[Source, list[Mark]] = {}
        self._numbers: dict[ToldView, int] = {}

    def apply(self, records: Iterable[ViewRecord]) -> None:
        """In the order of their topic."""
        for record in records:
            marks = self.marks.setdefault(Source(record.topic_id, record.partition, record.shard), [])
            view = self._number(ToldView(record.subscriptions_id, record.rules, record.view))
            mark = Mark(record.first_offset, record.after.encode(), view)
            while marks and marks[-1][:2] >= mark[:2]:
                marks.pop()
            marks.append(mark)

    def keep(self, events: Mapping[tuple[str, int], tuple[int, int]]) -> None:
        """Only what concerns events of these partitions, by topic id and number, from an offset to one (inclusive)."""
        for source, marks in list(self.marks.items()):
            low, high = events.get((source.topic_id, source.partition), (0, -1))
            first = max(bisect_left(marks, low, key=lambda mark: mark.offset) - 1, 0)
            end = bisect_right(marks, high, key=lambda mark: mark.offset)
            if first < end:
                self.marks[source] = marks[first:end]
            else:
                del self.marks[source]

    def needed(self) -> list[int]:
        """The views that are left, in the order in which they came about."""
        left = {mark.view for marks in self.marks.values() for mark in marks}
        return sorted(left, key=lambda number: sum(at.offset for at in self.views[number].view.positions))

    def windows(self, views: Iterable[int]) -> dict[LogPlace, Window]:
        """Of each partition of the log, the lowest and the highest position in these views."""
        found: dict[LogPlace, Window] = {}
        for told in (self.views[number] for number in views):
            for at in told.view.positions:
                place = LogPlace(told.subscriptions_id, at.partition)
                known = found.get(place, Window(at.offset, at.offset))
                found[place] = Window(min(known.low, at.offset), max(known.high, at.offset))
        return found

    def layout_of(self, layouts: Sequence[Layout]) -> Layout:
        """The one that the events were matched under. ConflictError if this version cannot tell what was matched."""
        told = [self.views[number] for number in self.needed()]
        numbers = sorted({each.view.layout for each in told})
        if len(numbers) > 1:
            raise ConflictError(
                f"Events of this interval were matched under the layouts {_listed(numbers)}, in which different shards "
                "had the subscriptions: replay an interval that has one of them."
            )
        found = [layout for layout in layouts if not numbers or layout.number == numbers[0]]
        if not found:
            raise MissingError(f"Layout {_listed(numbers)}, under which events were matched, is not there to be read.")
        ours = rules.digest(found[-1].limits)
        if strange := sorted({each.rules for each in told} - {ours}):
            raise ConflictError(
                f"Events of this interval were matched by the rules {_listed(strange)}, and this version of Tamis has "
                f"{ours}: it might tell other matches. Replay them with the version that matched them."
            )
        return found[-1]

    def _number(self, told: ToldView) -> int:
        if told not in self._numbers:
            self._numbers[told] = len(self.views)
            self.views.append(told)
        return self._numbers[told]


def _listed(values: Iterable[object]) -> str:
    return ", ".join(map(str, values)) or "?"


@dataclass(frozen=True, slots=True)
class ViewTable:
    """A history as arrays, so that it can lie in a mapped file."""

    ranges: Mapping[Source, tuple[int, int]]
    """Of each source, the first of its marks and the one behind the last."""
    offsets: NDArray[np.int64]
    """Of each mark,"""
    after: NDArray[np.uint32]
    """how many subscribers, by their names' order, had their notifications before it,"""
    views: NDArray[np.int32]
    """and the row of its view; `NO_VIEW` if that is none of those that are asked for."""
    positions: NDArray[np.int64]
    """A row for each view, a column for each place of the log; 0 where the view tells nothing of it."""
    shards: int

    @classmethod
    def of(
        cls,
        history: ViewHistory,
        views: Sequence[int],
        shards: int,
        places: Sequence[LogPlace],
        subscribers: Sequence[bytes],
    ) -> "ViewTable":
        """Of some of the views; `places` and `subscribers` are those of all versions, the latter ascending."""
        rows = {number: row for row, number in enumerate(views)}
        columns = {place: column for column, place in enumerate(places)}
        positions = np.zeros((len(views), len(places)), np.int64)
        for number, row in rows.items():
            told = history.views[number]
            for at in told.view.positions:
                column = columns.get(LogPlace(told.subscriptions_id, at.partition))
                if column is not None:
                    positions[row, column] = at.offset
        ranges: dict[Source, tuple[int, int]] = {}
        marks: list[Mark] = []
        for source, of_source in sorted(history.marks.items()):
            ranges[source] = len(marks), len(marks) + len(of_source)
            marks += of_source
        return cls(
            ranges,
            np.array([mark.offset for mark in marks], np.int64),
            np.array([bisect_right(subscribers, mark.after) if mark.after else 0 for mark in marks], np.uint32),
            np.array([rows.get(mark.view, NO_VIEW) for mark in marks], np.int32),
            positions,
            shards,
        )

    def marks_of(self, topic_id: str, partitions: NDArray[np.int32], offsets: NDArray[np.int64]) -> NDArray[np.int64]:
        """Of each shard and event, the last mark at or before the event's offset; -1 if there is none."""
        found = np.full((self.shards, len(offsets)), -1, np.int64)
        for partition in np.unique(partitions).tolist():
            chosen = np.flatnonzero(partitions == partition)
            for shard in range(self.shards):
                first, end = self.ranges.get(Source(topic_id, partition, shard), (0, 0))
                places = np.searchsorted(self.offsets[first:end], offsets[chosen], "right") - 1
                found[shard, chosen] = np.where(places < 0, -1, places + first)
        return found

    def concerns(self, marks: NDArray[np.int64]) -> bool:
        """Whether any event with these last marks may have been matched at one of the views that are asked for."""
        places = np.unique(marks[marks >= 0])
        while len(places):
            if (self.views[places] != NO_VIEW).any():
                return True
            places = places[self.after[places] > 0] - 1  # in the midst of an event, which has the one before, too
        return False

    def rows_of(
        self, marks: NDArray[np.int64], offsets: NDArray[np.int64], owners: NDArray[np.uint32]
    ) -> NDArray[np.int32]:
        """Of pairs of an event and a subscriber, by the event's last mark and offset: the view's row, or `NO_VIEW`.

        A mark in the midst of the event is not for the subscribers before it: for them it is the one before.
        """
        marks = marks.copy()
        while len(early := np.flatnonzero(self._is_behind(marks, offsets, owners))):
            # Going back leaves the source only if its first mark is in the midst of an event: then the part before it
            # was told under a view that nobody kept.
            left = marks[early] - 1
            same = (left >= 0) & (self._source_of(left) == self._source_of(marks[early]))
            marks[early] = np.where(same, left, -1)
        return np.where(marks < 0, np.int32(NO_VIEW), self.views[np.maximum(marks, 0)]).astype(np.int32)

    def _is_behind(
        self, marks: NDArray[np.int64], offsets: NDArray[np.int64], owners: NDArray[np.uint32]
    ) -> NDArray[np.bool_]:
        if not len(self.offsets):
            return np.zeros(len(marks), np.bool_)
        there = np.maximum(marks, 0)
        is_behind: NDArray[np.bool_] = (marks >= 0) & (self.offsets[there] == offsets) & (self.after[there] > owners)
        return is_behind

    def _source_of(self, marks: NDArray[np.int64]) -> NDArray[np.intp]:
        starts = np.array([first for first, _ in self.ranges.values()], np.int64)
        return np.searchsorted(starts, marks, "right")

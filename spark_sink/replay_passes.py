"""Against which files the events of a replay are matched: one, or several where versions exceed what memory is to hold.

A pass is a file and the events that it concerns. Of what was in force at each event's view there may be more versions
than an index should hold at once; then the views are cut into stretches, each with the versions that hold somewhere in
it. An event is matched in the passes that have its views: by several shards, it may be several.
"""

import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

from tamis.spark_sink.match_file import asks_key, digest_of, write_match_file
from tamis.spark_sink.versions import LogPlace, Version, Window
from tamis.spark_sink.views import ViewHistory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

VERSIONS_MAX = 4_000_000
"""In one index: some gigabytes."""
_ALL = Window()


@dataclass(frozen=True, slots=True)
class Stretch:
    """Some of the views, and the versions that may hold at them."""

    views: Sequence[int]
    versions: Sequence[Version]


@dataclass(frozen=True, slots=True)
class EventRange:
    """Events of a partition, from an offset to one (exclusive)."""

    topic_id: str
    partition: int
    start: int
    end: int | None


@dataclass(frozen=True, slots=True)
class Pass:
    """A file, and the events that are to be matched against it: all, if none are told."""

    path: Path
    digest: str
    asks_key: bool
    """Whether an expression asks for `$key`: then it takes the records' keys, too."""
    ranges: Sequence[EventRange] | None = None

    @classmethod
    def of(cls, path: Path, ranges: Sequence[EventRange] | None = None) -> Self:
        """SnapshotError if the file is none to match against.

        It is called by its digest from now on: among the files of one Spark session a name means one content.
        """
        digest, asks = digest_of(path), asks_key(path)
        return cls(path.rename(path.with_name(f"{digest}.tamis")), digest, asks, ranges)

    def concerns(self, events: "DataFrame") -> "DataFrame":
        from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

        if self.ranges is None:
            return events
        chosen = F.lit(False)  # noqa: FBT003 - a value
        for each in self.ranges:
            within = (events["topic_id"] == each.topic_id) & (events["partition"] == each.partition)
            within &= events["offset"] >= each.start
            chosen |= within if each.end is None else within & (events["offset"] < each.end)
        return events.where(chosen)


@contextmanager
def one_pass(versions: Sequence[Version]) -> Iterator[list[Pass]]:
    """Against versions that hold always."""
    with TemporaryDirectory(prefix="tamis-replay-") as folder:
        path = Path(folder) / "subscriptions.tamis"
        write_match_file(path, versions)
        yield [Pass.of(path)]


@contextmanager
def saved_pass(path: Path) -> Iterator[list[Pass]]:
    """Against a snapshot that somebody saved, which stays as it is."""
    with TemporaryDirectory(prefix="tamis-replay-") as folder:
        own = Path(folder) / "saved.tamis"
        try:
            own.hardlink_to(path.resolve())
        except OSError:  # it lies elsewhere; a symbolic link would not do, since Spark goes by what that leads to
            shutil.copyfile(path, own)
        yield [Pass.of(own)]


@contextmanager
def passes_of(
    history: ViewHistory, shards: int, versions: Sequence[Version], versions_max: int = VERSIONS_MAX
) -> Iterator[list[Pass]]:
    """Against what was in force at the views of a history. The first pass has all events."""
    with TemporaryDirectory(prefix="tamis-replay-") as folder:
        found: list[Pass] = []
        for stretch in stretches(history, versions, versions_max):
            path = Path(folder) / f"versions-{len(found)}.tamis"
            write_match_file(path, stretch.versions, history, shards, stretch.views)
            ranges = list(_ranges(history, set(stretch.views))) if found else None
            found.append(Pass.of(path, ranges))
        yield found


def stretches(history: ViewHistory, versions: Sequence[Version], versions_max: int) -> Iterator[Stretch]:
    """Of all views, in their order; one view is not cut, however many versions hold at it."""
    yield from _cut(history, history.needed(), versions, versions_max)


def _cut(
    history: ViewHistory, views: Sequence[int], versions: Sequence[Version], versions_max: int
) -> Iterator[Stretch]:
    chosen = _concerning(history.windows(views), versions)
    if len(chosen) <= versions_max or len(views) <= 1:
        yield Stretch(views, chosen)
        return
    middle = len(views) // 2
    yield from _cut(history, views[:middle], chosen, versions_max)
    yield from _cut(history, views[middle:], chosen, versions_max)


def _concerning(windows: Mapping[LogPlace, Window], versions: Sequence[Version]) -> list[Version]:
    return [each for each in versions if each.place in windows and windows[each.place].concerns(each)]


def _ranges(history: ViewHistory, views: set[int]) -> Iterator[EventRange]:
    """Where events may have been matched at one of these views: of each partition, from the first to the last."""
    bounds: dict[tuple[str, int], tuple[int, float]] = {}
    for source, marks in history.marks.items():
        for place, mark in enumerate(marks):
            if mark.view in views:
                # The next one may be in the midst of its first event, which then has this one, too.
                end = marks[place + 1].offset + 1 if place + 1 < len(marks) else inf
                start, known = bounds.get((source.topic_id, source.partition), (mark.offset, end))
                bounds[source.topic_id, source.partition] = min(start, mark.offset), max(known, end)
    for (topic_id, partition), (start, end) in bounds.items():
        yield EventRange(topic_id, partition, start, None if end == inf else int(end))

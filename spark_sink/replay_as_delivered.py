"""What was in force when each event was matched, from the records of a source.

Of the log of subscriptions every record counts, also those that compaction took from Kafka: that is why the archive
keeps them. Which of them an event met, the views tell.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, TypeVar

from tamis.broker.errors import ConflictError, MissingError
from tamis.broker.names import Names
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import KEY, Layout
from tamis.codecs.view import ViewRecord
from tamis.spark_sink.replay_sources import Record, ReplaySource, collected
from tamis.spark_sink.versions import LogPlace, PartitionLog, Version, Window
from tamis.spark_sink.views import ViewHistory

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_AT_ONCE = 10_000
Decoded = TypeVar("Decoded")

EventPlaces = Mapping[tuple[str, int], tuple[int, int]]
"""Of each event partition, by topic id and number, the first and the last offset."""


@dataclass(frozen=True, slots=True)
class Delivered:
    """What was in force, and when."""

    layout: Layout
    history: ViewHistory
    versions: Sequence[Version]


def layouts_of(source: ReplaySource, names: Names) -> list[Layout]:
    """All that were written, in their order. MissingError if there are none."""
    found = [
        _decoded(record, Layout.decode)
        for record in collected(source.records([names.layout]))
        if record.key == KEY and record.value
    ]
    if not found:
        raise MissingError(
            f"There is no layout of {names.prefix!r} to be read: which topics have events cannot be told. "
            "Is it the right prefix?"
        )
    return found


def event_topics(layouts: Iterable[Layout], names: Names) -> list[str]:
    return sorted({topic for layout in layouts for topic in layout.topics} - {names.subscriptions})


def places_of(events: "DataFrame") -> EventPlaces:
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    bounds = events.groupBy("topic_id", "partition").agg(F.min("offset"), F.max("offset"))
    return {(row[0], row[1]): (row[2], row[3]) for row in bounds.collect()}


def delivered(source: ReplaySource, names: Names, layouts: Sequence[Layout], places: EventPlaces) -> Delivered:
    """What concerns these events. ConflictError if this version of Tamis cannot tell what they matched."""
    history = ViewHistory()
    history.apply(_decoded(record, ViewRecord.decode) for record in _views(source, names))
    history.keep(places)
    layout = history.layout_of(layouts)
    windows = history.windows(history.needed())
    _require_whole(source.whole_from(names.subscriptions), windows)
    return Delivered(layout, history, list(_versions(source, names, layout, windows)))


def _require_whole(whole_from: Mapping[tuple[str, int], int], windows: Mapping[LogPlace, Window]) -> None:
    """What was compacted away before it was read may have been in force at an early view."""
    for place, window in sorted(windows.items()):
        if window.low < whole_from.get(place, 0):
            raise ConflictError(
                f"Some events of this interval were matched when partition {place.partition} of the log of "
                f"subscriptions ended at {window.low}, and it is whole from {whole_from[place]} on: what was "
                "in force then cannot be told any more. Begin later: --from."
            )


def _views(source: ReplaySource, names: Names) -> Iterator[Record]:
    """Of several topics of the name the one that was there first comes first."""
    found = collected(source.records([names.views]))
    topics = [list(records) for _, records in groupby(found, key=lambda record: record.topic_id)]
    for records in sorted(topics, key=lambda records: records[0].timestamp):
        yield from records


def _versions(
    source: ReplaySource, names: Names, layout: Layout, windows: Mapping[LogPlace, Window]
) -> Iterator[Version]:
    """The records of one partition at a time are in memory."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    log = source.records([names.subscriptions])
    for place, window in sorted(windows.items()):
        wanted = (log["topic_id"] == place.subscriptions_id) & (log["partition"] == place.partition)
        follower = PartitionLog(place, layout, window)
        some: list[Record] = []
        for record in collected(log.where(wanted & (F.col("offset") < window.high))):
            some.append(record)
            if len(some) == _AT_ONCE:
                _apply(follower, some)
                some = []
        _apply(follower, some)
        yield from follower.versions()


def _decoded(record: Record, decode: Callable[[bytes], Decoded]) -> Decoded:
    try:
        return decode(record.value or b"")
    except RecordError as error:
        raise ConflictError(
            f"The record at {record.topic} [{record.partition}] {record.offset} cannot be read: {error}. "
            "Was it written by a newer version of Tamis?"
        ) from error


def _apply(follower: PartitionLog, records: Sequence[Record]) -> None:
    follower.apply(
        [record.offset for record in records],
        [record.key for record in records],
        [record.value for record in records],
    )

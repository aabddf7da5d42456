"""Matches as the notifications that a broker would have sent; for `mapInArrow`.

They are put together by the broker's own encoder, and have the ids that the broker gives: who has had one of them can
tell.
"""

import json
from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tamis.codecs.event_columns import EventColumns
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.grouping import grouped
from tamis.codecs.notification_encoder import encoded
from tamis.codecs.notification_ids import notification_ids
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes.matches import Matches
from tamis.spark_sink.match_file import MatchFile
from tamis.spark_sink.matching import Found, Matcher, MatchTask, Unmatched, matcher_of

NOTIFICATIONS = pa.schema(
    [
        ("topic", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("subscriber", pa.string()),
        ("key", pa.binary()),
        ("id", pa.binary()),
        ("value", pa.binary()),
    ]
)
_ENCODED_BYTES = 4 << 20


def redelivered(
    task: MatchTask, batches: Iterable[pa.RecordBatch], *, format: NotificationFormat
) -> Iterator[pa.RecordBatch]:
    """A row for each event and subscriber that matched: `NOTIFICATIONS`. The batches have the records' keys."""
    matcher = matcher_of(task, tells_scores=True)
    writer = NotificationWriter(matcher, format)
    for batch in batches:
        unmatched: list[Unmatched] = []
        for found in matcher.match(batch, unmatched):
            yield from writer.write(batch, found)


class NotificationWriter:
    """Knows whose the subscriptions of a file are."""

    def __init__(self, matcher: Matcher, format: NotificationFormat) -> None:
        self._matcher = matcher
        self._file = matcher.file
        self._table = SubscriptionTable(format)
        self._subscribers = _fill(self._table, matcher.file)

    def write(self, batch: pa.RecordBatch, found: Found) -> Iterator[pa.RecordBatch]:
        events, firsts = np.unique(found.events, return_index=True)
        starts = np.append(firsts, len(found.events)).astype(np.uint64)
        groups = grouped(Matches(starts, found.places, len(events), found.scores, {}), self._table)
        rows = pa.array(found.rows[firsts])
        chosen = pa.RecordBatch.from_arrays([column.take(rows) for column in batch.columns], schema=batch.schema)
        columns = self._columns(chosen, found, events)
        topic_ids = dict(zip(columns.topics, chosen.column("topic_id").to_pylist(), strict=True))
        first = 0
        while first < len(groups):
            part = encoded(groups, self._table, columns, first, _ENCODED_BYTES)
            places = pa.array(groups.events[first : part.end])
            told = [chosen.column(name).take(places) for name in ("topic", "partition", "offset")]
            owners = groups.subscribers[first : part.end].tolist()
            yield pa.RecordBatch.from_arrays(
                [
                    *told,
                    pa.array([self._subscribers[owner].decode() for owner in owners], pa.string()),
                    chosen.column("key").take(places),
                    pa.array(
                        notification_ids(groups, columns, topic_ids, self._subscribers, first, part.end), pa.binary()
                    ),
                    pa.array(list(part), pa.binary()),
                ],
                schema=NOTIFICATIONS,
            )
            first = part.end

    def _columns(self, chosen: pa.RecordBatch, found: Found, events: NDArray[np.int64]) -> EventColumns:
        values: Sequence[bytes] = chosen.column("value").to_pylist()
        topics = chosen.column("topic").to_pylist()
        if self._table.format is NotificationFormat.JSON:
            values = self._matcher.as_json(chosen)
        return EventColumns(
            [found.decoded.id(event) for event in events.tolist()],
            found.decoded.times[events],
            topics,
            chosen.column("partition").to_numpy(),
            chosen.column("offset").to_numpy(),
            values,
        )


def _fill(table: SubscriptionTable, file: MatchFile) -> list[bytes]:
    """The subscribers' names, by number."""
    assert file.tags is not None, "a file that tells no subscribers is refused before"
    assert file.scores is not None
    count = len(file.keys)
    names: list[str] = []
    subscribers: dict[int, bytes] = {}
    for place, owner in enumerate(file.owners.tolist()):
        subscriber, _, name = file.keys[place].partition(b"/")
        names.append(name.decode())
        subscribers[owner] = subscriber
    tags = [json.loads(file.tags[place]) for place in range(count)]
    table.put_many(np.arange(count, dtype=np.uint32), np.asarray(file.owners), names, tags, np.asarray(file.scores))
    return [subscribers[owner] for owner in range(len(subscribers))]

"""The matching of replays: Arrow batches of records in, Arrow batches of matches out. Knows no Spark session.

The bytes of a record are decoded where Arrow has them, by the broker's own decoder, and matched by its own engines.
`matched` and `tallied` are what `mapInArrow` is given: with a `MatchTask` bound to them they can be sent to workers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.messages import DETECT, EventFormat, Messages
from tamis.codecs.reasons import Refusal
from tamis.codecs.rendering import rendered
from tamis.spark_sink.match_file import MatchFile, load_match_file

if TYPE_CHECKING:
    from tamis.broker.configuration import RegistrySettings
    from tamis.codecs.registry import SchemaRegistry

INPUT = ("topic", "topic_id", "partition", "offset", "timestamp", "value")
"""The columns that are wanted of a record; and `key`, if a subscription asks for `$key`."""
NO_VIEW = "no_view"
"""The reason of an event that nobody had matched yet, as far as views tell."""
MATCHES = pa.schema(
    [
        ("topic", pa.string()),
        ("topic_id", pa.string()),
        ("partition", pa.int32()),
        ("offset", pa.int64()),
        ("subscription", pa.string()),  # None: the event is not matched,
        ("reason", pa.string()),  # and this is why
    ]
)
TALLIES = pa.schema([("subscription", pa.string()), ("reason", pa.string()), ("count", pa.int64())])
_IDS_MAX = 500_000
"""Of one batch of matches, at most, but for an event that has more."""
_MICROSECONDS_A_MILLISECOND = 1000


@dataclass(frozen=True, slots=True)
class MatchTask:
    """What a worker is told."""

    file: str
    """Its name among Spark's files."""
    digest: str
    engine: str
    formats: Mapping[str, EventFormat] = field(default_factory=dict)
    registry: "RegistrySettings | None" = None
    is_first: bool = True
    """Of several passes over the same events, the one that tells which are not matched."""


@dataclass(frozen=True, slots=True)
class Found:
    """What some rows of a batch matched: pairs, ascending by row, then by key."""

    rows: NDArray[np.int64]
    places: NDArray[np.uint32]
    """Of the subscriptions, in the order of their keys."""
    decoded: DecodedEvents
    events: NDArray[np.int64]
    """Of each pair, the event's place among the decoded ones."""
    scores: NDArray[np.float64] | None


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A row that is not matched, and why."""

    row: int
    reason: str


class Matcher:
    """Matches batches against a file. One thread has it."""

    def __init__(self, file: MatchFile, task: MatchTask, *, tells_scores: bool = False) -> None:
        self.file = file
        self._decoder = EventDecoder(registry=_registry(task))
        self._formats = task.formats
        self._tells_scores = tells_scores and file.scores is not None and bool(file.scores.any())
        self._is_first = task.is_first
        starts, data = pa.py_buffer(np.ascontiguousarray(file.keys.starts)), pa.py_buffer(file.keys.data)
        self._keys = pa.LargeStringArray.from_buffers(len(file.keys), starts, data)

    def match(self, batch: pa.RecordBatch, unmatched: list[Unmatched]) -> Iterator[Found]:
        """Its rows in their order; those that are none or have no view are added to the list."""
        for start, end in _runs(batch):
            yield from self._match_run(batch.slice(start, end - start), start, unmatched)

    def keys_of(self, places: NDArray[np.uint32]) -> pa.StringArray:
        return self._keys.take(pa.array(places)).cast(pa.string())

    def as_json(self, rows: pa.RecordBatch) -> list[bytes]:
        """Events of one topic, as notifications in JSON have them."""
        messages = _messages(rows, self._formats)
        return list(rendered(self._decoder, replace(messages, values=rows.column("value").to_pylist(), keys=None)))

    def _match_run(self, run: pa.RecordBatch, start: int, unmatched: list[Unmatched]) -> Iterator[Found]:
        """Of one topic."""
        index, holding = self.file.index, self.file.holding
        messages = _messages(run, self._formats)
        marks = None
        if holding is not None:
            topic_id = run.column("topic_id")[0].as_py()
            marks = holding.table.marks_of(topic_id, messages.partition, messages.offsets)  # type: ignore[arg-type]
            if not self._is_first and not holding.table.concerns(marks):
                return
        decoded = self._decoder.decode(messages, index.vocabulary)
        if self._is_first:
            unmatched += _refused(decoded.refusals, start)
            if marks is not None:
                without = decoded.positions[(marks[:, decoded.positions] < 0).any(axis=0)]
                unmatched += [Unmatched(start + row, NO_VIEW) for row in without.tolist()]
        first = 0
        while first < len(decoded):
            matches = index.match_batch(decoded.batch, first, _IDS_MAX, scores=self._tells_scores)
            ends = matches.offsets.astype(np.int64)
            events = np.repeat(np.arange(first, first + matches.events), ends[1:] - ends[:-1])
            rows = decoded.positions[events].astype(np.int64)
            places, scores = self.file.places_of(matches.ids), matches.scores
            if holding is not None and marks is not None:
                held = holding.holds(marks, np.asarray(messages.offsets), rows, places, self.file.owners)
                rows, places, events = rows[held], places[held], events[held]
                scores = None if scores is None else scores[held]
            if len(rows):
                yield Found(rows + start, places, decoded, events, scores)
            first += matches.events


def matched(task: MatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """A row for each match, and for each event that is not matched: `MATCHES`."""
    yield from matches_of(matcher_of(task), batches)


def tallied(task: MatchTask, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """How many matches each subscription has among all these events, and how many events are not matched: `TALLIES`."""
    yield from tallies_of(matcher_of(task), batches)


def matches_of(matcher: Matcher, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        unmatched: list[Unmatched] = []
        for found in matcher.match(batch, unmatched):
            keys = matcher.keys_of(found.places)
            yield _rows(batch, found.rows, keys, pa.nulls(len(keys), pa.string()))
        if unmatched:
            reasons = pa.array([each.reason for each in unmatched], pa.string())
            rows = np.array([each.row for each in unmatched], np.int64)
            yield _rows(batch, rows, pa.nulls(len(reasons), pa.string()), reasons)


def tallies_of(matcher: Matcher, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    counts = np.zeros(len(matcher.file.keys), np.int64)
    reasons: Counter[str] = Counter()
    for batch in batches:
        unmatched: list[Unmatched] = []
        for found in matcher.match(batch, unmatched):
            if len(found.places) * _SPARSE < len(counts):
                np.add.at(counts, found.places, 1)
            else:
                counts += np.bincount(found.places, minlength=len(counts))
        reasons.update(each.reason for each in unmatched)
    places = np.flatnonzero(counts).astype(np.uint32)
    if len(places):
        keys = matcher.keys_of(places)
        yield _tallies(keys, pa.nulls(len(keys), pa.string()), pa.array(counts[places]))
    if reasons:
        names = pa.array(list(reasons), pa.string())
        yield _tallies(pa.nulls(len(names), pa.string()), names, pa.array(list(reasons.values()), pa.int64()))


_SPARSE = 8
"""Where there are so many times more subscriptions than matches, adding one by one is faster than a whole column."""
_loaded: dict[tuple[str, str], MatchFile] = {}
"""By digest and engine, the one that this worker has mapped: many tasks run in it."""


def matcher_of(task: MatchTask, *, tells_scores: bool = False) -> Matcher:
    """In a worker of Spark, with the file that came with the job."""
    from pyspark import SparkFiles

    known = (task.digest, task.engine)
    if known not in _loaded:
        _loaded.clear()  # first: two engines' structures need not be in memory at once
        _loaded[known] = load_match_file(SparkFiles.get(task.file), task.engine)
    return Matcher(_loaded[known], task, tells_scores=tells_scores)


def _registry(task: MatchTask) -> "SchemaRegistry | None":
    if task.registry is None:
        return None
    # What it takes is spared most workers, which import all of this anew.
    from tamis.broker.schema_registry import ConfluentRegistry

    return ConfluentRegistry(task.registry)


def _runs(batch: pa.RecordBatch) -> Iterator[tuple[int, int]]:
    """From where to where rows are of one topic."""
    if not batch.num_rows:
        return
    encode: Any = getattr(pc, "run_end_encode")  # noqa: B009 - pyarrow makes it at run time, and its stubs do not say so
    ends = [encode(batch.column(name)).run_ends.to_numpy() for name in ("topic", "topic_id")]
    start = 0
    for end in np.union1d(*ends).tolist():
        yield start, end
        start = end


def _messages(run: pa.RecordBatch, formats: Mapping[str, EventFormat]) -> Messages:
    topic = run.column("topic")[0].as_py()
    return Messages(
        topic,
        run.column("partition").to_numpy(),
        run.column("offset").to_numpy(),
        run.column("timestamp").view(pa.int64()).to_numpy() // _MICROSECONDS_A_MILLISECOND,
        run.column("value"),
        run.column("key") if "key" in run.schema.names else None,
        formats.get(topic, DETECT),
    )


def _refused(refusals: Sequence[Refusal], start: int) -> list[Unmatched]:
    return [Unmatched(start + refusal.position, refusal.reason) for refusal in refusals]


def _rows(batch: pa.RecordBatch, rows: NDArray[np.int64], keys: pa.Array, reasons: pa.Array) -> pa.RecordBatch:
    places = pa.array(rows)
    columns = [batch.column(name).take(places) for name in ("topic", "topic_id", "partition", "offset")]
    return pa.RecordBatch.from_arrays([*columns, keys, reasons], schema=MATCHES)


def _tallies(keys: pa.Array, reasons: pa.Array, counts: pa.Array) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays([keys, reasons, counts], schema=TALLIES)

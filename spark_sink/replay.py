"""Matching the past again: what events of an interval match, counted, written, or compared with what was delivered.

A replay takes a source and passes (`replay_passes`), and is lazy until something is asked of it. What several things
are asked of is kept on the executors' disks meanwhile, so that each event is matched once.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce
from typing import TYPE_CHECKING, Any

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.codecs.messages import EventFormat
from tamis.spark_sink import matching, redelivery
from tamis.spark_sink.matching import MatchTask
from tamis.spark_sink.replay_passes import Pass
from tamis.spark_sink.replay_progress import Watch, counting

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

MATCHES = "topic string, topic_id string, partition int, offset bigint, subscription string, reason string"
TALLIES = "subscription string, reason string, count bigint"
NOTIFICATIONS = "topic string, partition int, offset bigint, subscriber string, key binary, id binary, value binary"
Match = Callable[[MatchTask, Iterable[Any]], Iterable[Any]]
_ORDER = ("topic", "topic_id", "partition", "offset", "subscription")


@dataclass(frozen=True, slots=True)
class Counts:
    """What a replay came to."""

    events: int
    """Those that could not be decoded, too."""
    subscriptions: Mapping[str, int]
    """Matches of each subscription that there was, by `subscriber/name`; some have none."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Events that could not be decoded, by reason."""
    without_view: int = 0
    """Events of which no view tells what was in force: nobody had matched them yet."""

    @property
    def matches(self) -> int:
        return sum(self.subscriptions.values())

    @property
    def never(self) -> list[str]:
        """Subscriptions that match none of the events."""
        return sorted(key for key, count in self.subscriptions.items() if not count)


class Replay:
    """Events, and what they are matched against."""

    def __init__(
        self,
        session: "SparkSession",
        settings: Settings,
        events: "DataFrame",
        passes: Sequence[Pass],
        watch: Watch,
    ) -> None:
        self._session = session
        self._events = events
        self._passes = passes
        self._settings = settings
        self._watch = watch
        self._formats: Mapping[str, EventFormat] = {
            topic: section.format() for topic, section in settings.events.items()
        }
        for each in passes:
            session.sparkContext.addFile(str(each.path))

    def matches(self) -> "DataFrame":
        """A row for each match, and for each event that is not matched (`reason`)."""
        found = [self._matched(number, matching.matched, MATCHES) for number in range(len(self._passes))]
        return reduce(lambda some, more: some.unionAll(more), found)

    def counted(self, keys: Iterable[str]) -> Counts:
        """Of all these subscriptions; nothing is kept of the matches but how many there are."""
        from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

        events = self._count_events()
        found = [self._matched(number, matching.tallied, TALLIES) for number in range(len(self._passes))]
        tallies = reduce(lambda some, more: some.unionAll(more), found)
        summed = tallies.groupBy("subscription", "reason").agg(F.sum("count").alias("count"))
        return counts_of(events, summed, keys)

    def notifications(self) -> "DataFrame":
        """What brokers would have sent, by event partition in their order, then by subscriber."""
        function = partial(redelivery.redelivered, format=self._settings.notifications.format)
        found = [self._matched(number, function, NOTIFICATIONS, needs_key=True) for number in range(len(self._passes))]
        every = reduce(lambda some, more: some.unionAll(more), found)
        return every.orderBy("topic", "partition", "offset", "subscriber")

    @contextmanager
    def kept(self) -> Iterator["DataFrame"]:
        """The same as `matches`, on the executors' disks once they were asked for."""
        from pyspark import StorageLevel

        self._count_events()
        found = self.matches().persist(StorageLevel.DISK_ONLY)
        try:
            yield found
        finally:
            found.unpersist()

    def _count_events(self) -> int:
        self._watch.events = self._events.count()
        return self._watch.events

    def _matched(self, number: int, function: Match, schema: str, *, needs_key: bool = False) -> "DataFrame":
        one = self._passes[number]
        task = MatchTask(
            one.path.name,
            one.digest,
            self._settings.broker.engine,
            self._formats,
            self._settings.schema_registry,
            is_first=number == 0,
        )
        columns = [*matching.INPUT, *(["key"] if one.asks_key or needs_key else [])]
        return (
            one.concerns(self._events)
            .select(*columns)
            .mapInArrow(partial(counting, self._watch.matched, partial(function, task)), schema)
        )


def counts_of(events: int, summed: "DataFrame", keys: Iterable[str]) -> Counts:
    """Of rows `subscription`, `reason`, `count`, of which each has one of the first two."""
    counts: dict[str, int] = dict.fromkeys(keys, 0)
    reasons: Counter[str] = Counter()
    table = summed.toArrow()
    for key, reason, count in zip(*(table.column(name).to_pylist() for name in summed.columns), strict=True):
        if key is None:
            reasons[reason] = count
        else:
            counts[key] = count
    without_view = reasons.pop(matching.NO_VIEW, 0)
    return Counts(events, counts, dict(reasons), without_view)


def write(found: "DataFrame", counts: Counts, folder: str) -> None:
    """Three tables in Parquet: `matches`, `rejected`, `subscriptions`. ConflictError if they are there already."""
    from pyspark.errors import AnalysisException

    session = found.sparkSession
    matches = found.where("reason is null").drop("reason").sortWithinPartitions(*_ORDER)
    rejected = found.where("reason is not null").drop("subscription")
    try:
        matches.write.parquet(f"{folder}/matches")
        rejected.write.parquet(f"{folder}/rejected")
        _table_of(session, counts).write.parquet(f"{folder}/subscriptions")
    except AnalysisException as error:
        if error.getCondition() != "PATH_ALREADY_EXISTS":
            raise
        raise ConflictError(f"There is something at {folder} already: name another folder, or delete it.") from error


def _table_of(session: "SparkSession", counts: Counts) -> "DataFrame":
    import pyarrow as pa

    columns = {
        "subscription": pa.array(list(counts.subscriptions), pa.string()),
        "matches": pa.array(list(counts.subscriptions.values()), pa.int64()),
    }
    return session.createDataFrame(pa.table(columns)).orderBy("subscription")

"""Where a replay reads from: an archive, or Kafka itself. Both give records in the archive's columns.

An archive is read at one of its versions, so that all passes of a replay see the same, whatever is added meanwhile.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from tamis.broker.errors import ConflictError, InvalidError
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_status import whole_from
from tamis.spark_sink.archive_tables import fulfilled_by, require
from tamis.spark_sink.fulfilment import Fulfilled

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

COLUMNS = ("topic", "topic_id", "partition", "offset", "timestamp", "key", "value", "headers")


@dataclass(frozen=True, slots=True)
class Interval:
    """Of Kafka timestamps, in milliseconds since 1970."""

    start: int | None = None
    end: int | None = None
    """Exclusive."""

    def holds(self, timestamp: "Column") -> "Column":
        from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

        held = F.lit(True)  # noqa: FBT003 - a value
        if self.start is not None:
            held = timestamp >= F.timestamp_millis(F.lit(self.start))
        if self.end is not None:
            held &= timestamp < F.timestamp_millis(F.lit(self.end))
        return held


@dataclass(frozen=True, slots=True)
class Record:
    """As the driver has it."""

    topic: str
    topic_id: str
    partition: int
    offset: int
    timestamp: int
    """Kafka's, in milliseconds since 1970."""
    key: bytes | None
    value: bytes | None


class ReplaySource(Protocol):
    """What replays ask for."""

    def events(self, topics: Sequence[str]) -> "DataFrame":
        """The events of the interval."""
        ...

    def others(self, topics: Sequence[str]) -> "DataFrame":
        """The events outside of it."""
        ...

    def records(self, topics: Sequence[str]) -> "DataFrame":
        """All that is there of these topics, whatever the interval."""
        ...

    def notifications(self, prefix: str) -> "DataFrame":
        """All that is there of the topics whose names begin so."""
        ...

    def whole_from(self, topic: str) -> Mapping[tuple[str, int], int]:
        """Of a topic's partitions, by its id and their numbers, from which offset on no record is missing."""
        ...

    def fulfilled(self) -> Fulfilled:
        """Up to where what came can be compared. To be asked for before anything else that is compared.

        ConflictError if that cannot be told.
        """
        ...


class ArchiveSource:
    """A table that `tamis archive` wrote."""

    def __init__(self, session: "SparkSession", path: str, interval: Interval) -> None:
        """MissingError if there is none, InvalidError if it is another table."""
        self._interval = interval
        self._session = session
        self._place = Place.at(path)
        self._version = _version(session, self._place)
        self._table = session.read.format("delta").option("versionAsOf", self._version).load(self._place.records)
        if missing := [name for name in COLUMNS if name not in self._table.columns]:
            raise InvalidError(f"The table at {path} is no archive: it has no column {missing[0]!r}.")

    def events(self, topics: Sequence[str]) -> "DataFrame":
        return self.records(topics).where(self._interval.holds(self._table["timestamp"]))

    def others(self, topics: Sequence[str]) -> "DataFrame":
        return self.records(topics).where(~self._interval.holds(self._table["timestamp"]))

    def records(self, topics: Sequence[str]) -> "DataFrame":
        return self._table.where(self._table["topic"].isin(list(topics))).select(*COLUMNS)

    def notifications(self, prefix: str) -> "DataFrame":
        return self._table.where(self._table["topic"].startswith(prefix)).select(*COLUMNS)

    def whole_from(self, topic: str) -> Mapping[tuple[str, int], int]:
        del topic  # an id is of one topic alone
        return whole_from(self._session, self._place)

    def fulfilled(self) -> Fulfilled:
        found = fulfilled_by(self._session, self._place, self._version)
        if found is None:
            raise ConflictError(
                f"The archive at {self._place.url} does not tell which events have all of their notifications in it. "
                "Archive them, too, and then compare: tamis archive once --notifications. Or compare what Kafka has: "
                "--kafka."
            )
        return found


def collected(records: "DataFrame") -> Iterator[Record]:
    """To the driver, by topic id, partition and offset."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    places = ["topic", "topic_id", "partition", "offset"]
    table = records.select(*places, F.unix_millis("timestamp"), "key", "value").toArrow()
    # Here and not by Spark, which would look at all of them twice to learn where to cut.
    table = table.sort_by([(name, "ascending") for name in places])
    for batch in table.to_batches():
        for values in zip(*(column.to_pylist() for column in batch.columns), strict=True):
            yield Record(*values)


def _version(session: "SparkSession", place: Place) -> int:
    from delta.tables import DeltaTable

    require(session, place)
    [row] = DeltaTable.forPath(session, place.records).history(1).select("version").collect()
    version: int = row.version
    return version

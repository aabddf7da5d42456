"""The archive's two Delta tables, and what one commit is: records, and where each partition goes on, or neither.

`records` has a row for each record. A commit that adds some carries, as its user metadata, the next offset of every
partition: so the archive itself says where to go on, and no second place can disagree with it.

Who writes is numbered: a term, larger for each archiver that starts, and a number for each of its commits. They are a
Delta transaction of a fixed application. An archiver begins with an empty commit of its term; from then on Delta leaves
out whatever one of an older term still writes, wherever that one runs.
"""

import json
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tamis.broker.errors import MissingError
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.errors import ArchiveError, OvertakenError
from tamis.spark_sink.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from tamis.spark_sink.fulfilment import Fulfilment

Slice = tuple[str, int]
"""A topic's id and a partition of it: one log, that a topic made anew does not go on."""

_APPLICATION = "tamis-archive"
_TERM_BITS = 20
"""Of commits there is room for so many in each millisecond between one term and the next."""
_FORMAT = 1
_SOUGHT_BY = ("partition", "offset", "timestamp")
"""Of these Delta notes the least and the greatest value in each file; to note all columns' takes a tenth of it all."""
_HISTORY = (20, None)
"""How many commits are looked at for the newest one of ours, at first and then."""


def records_schema() -> "StructType":
    from pyspark.sql import types

    header = types.StructType([types.StructField("key", types.StringType()), types.StructField("value", _binary())])
    return types.StructType(
        [
            types.StructField("topic", types.StringType(), nullable=False),
            types.StructField("topic_id", types.StringType(), nullable=False),
            types.StructField("partition", types.IntegerType(), nullable=False),
            types.StructField("offset", types.LongType(), nullable=False),
            types.StructField("timestamp", types.TimestampType(), nullable=False),
            types.StructField("timestamp_type", types.IntegerType(), nullable=False),
            types.StructField("key", _binary()),
            types.StructField("value", _binary()),
            types.StructField("headers", types.ArrayType(header)),
            types.StructField("day", types.DateType(), nullable=False),
        ]
    )


def beginnings_schema() -> "StructType":
    from pyspark.sql import types

    return types.StructType(
        [
            types.StructField("topic", types.StringType(), nullable=False),
            types.StructField("topic_id", types.StringType(), nullable=False),
            types.StructField("partition", types.IntegerType(), nullable=False),
            types.StructField("at", types.TimestampType(), nullable=False),
            types.StructField("offset", types.LongType(), nullable=False),
            types.StructField("missing_from", types.LongType(), nullable=False),
            types.StructField("compacted_to", types.LongType(), nullable=False),
        ]
    )


def _binary() -> Any:
    from pyspark.sql import types

    return types.BinaryType()


def is_there(spark: "SparkSession", place: Place) -> bool:
    from delta.tables import DeltaTable

    return bool(DeltaTable.isDeltaTable(spark, place.records))


def require(spark: "SparkSession", place: Place) -> None:
    if not is_there(spark, place):
        raise MissingError(f"There is no archive at {place.url}. Begin one: tamis archive once --path PATH")


def make(spark: "SparkSession", place: Place) -> None:
    """Both tables, if they are not there. ArchiveError if what is there is something else."""
    from delta.tables import DeltaTable

    tables: tuple[tuple[str, StructType, list[str], Mapping[str, str]], ...] = (
        (place.beginnings, beginnings_schema(), [], {}),
        (place.records, records_schema(), ["topic", "day"], {"delta.dataSkippingStatsColumns": ",".join(_SOUGHT_BY)}),
    )
    for path, schema, partitioning, properties in tables:
        if DeltaTable.isDeltaTable(spark, path):
            _require_schema(spark, path, schema)
            continue
        table = DeltaTable.createIfNotExists(spark).location(path).addColumns(schema).partitionedBy(*partitioning)
        # Nobody who keeps to Delta's protocol deletes or changes a row by mistake.
        for key, value in {"delta.appendOnly": "true", "tamis.format": str(_FORMAT), **properties}.items():
            table = table.property(key, value)
        table.execute()


def _require_schema(spark: "SparkSession", path: str, schema: "StructType") -> None:
    found = {field.name: field.dataType for field in read(spark, path).schema.fields}
    for field in schema.fields:
        if found.get(field.name) != field.dataType:
            raise ArchiveError(
                f"{path} is a Delta table, and none of an archive: its column {field.name} is "
                f"{found[field.name].simpleString() if field.name in found else 'missing'}. Name another folder."
            )


def read(spark: "SparkSession", path: str) -> "DataFrame":
    return spark.read.format("delta").load(path)


@dataclass(frozen=True, slots=True)
class Commit:
    """One of an archiver's, as its metadata has it."""

    term: int
    number: int
    nexts: Mapping[Slice, int] | None
    """None in the commit that a term begins with."""
    fulfilled: Mapping[Slice, int] | None = None
    """`fulfilment.Fulfilled`; None if notifications are not archived."""

    @property
    def text(self) -> str:
        document: dict[str, Any] = {"tamis": _FORMAT, "term": self.term, "number": self.number}
        if self.nexts is not None:
            document["next"] = _by_topic(self.nexts)
        if self.fulfilled is not None:
            document["fulfilled"] = _by_topic(self.fulfilled)
        return json.dumps(document, separators=(",", ":"))

    @classmethod
    def parse(cls, text: str | None) -> "Commit | None":
        """None if it is not one of ours."""
        try:
            document = json.loads(text or "")
        except ValueError:
            return None
        if not isinstance(document, dict) or "tamis" not in document:
            return None
        if document["tamis"] != _FORMAT:
            raise ArchiveError(
                f"The archive was written by a newer version of Tamis (format {document['tamis']}). Use that one."
            )
        return cls(
            document["term"], document["number"], _by_slice(document.get("next")), _by_slice(document.get("fulfilled"))
        )


def _by_topic(offsets: Mapping[Slice, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (topic_id, partition), offset in sorted(offsets.items()):
        found.setdefault(topic_id, {})[str(partition)] = offset
    return found


def _by_slice(document: Mapping[str, Mapping[str, int]] | None) -> dict[Slice, int] | None:
    if document is None:
        return None
    return {(topic_id, int(partition)): at for topic_id, some in document.items() for partition, at in some.items()}


class Writer:
    """The archive's, for one term: until a newer one begins."""

    def __init__(self, spark: "SparkSession", place: Place, fulfilment: "Fulfilment | None" = None) -> None:
        """Takes the archive over from whoever has it. `fulfilment` where notifications are archived."""
        self._fulfilment = fulfilment
        self._spark = spark
        self._place = place
        newest = next(_commits(spark, place), None)
        now = time.time_ns() // 1_000_000
        self.term = max(now, 0 if newest is None else newest.term + 1)
        self._number = self._certain = 0
        self._write(read(spark, place.records).where("false"), Commit(self.term, 0, None))
        self.require_own()

    def append(self, records: "DataFrame", nexts: Mapping[Slice, int]) -> None:
        """These records, and where each partition goes on: both, or neither."""
        self._number += 1
        fulfilled = None if self._fulfilment is None else self._fulfilment.reached(nexts)
        self._write(records, Commit(self.term, self._number, nexts, fulfilled))
        if self._fulfilment is not None:
            self._fulfilment.told_with(nexts, fulfilled)
        self._certain = self._number

    def fulfils_more(self, nexts: Mapping[Slice, int]) -> bool:
        """Whether a commit would tell that more is fulfilled, even if it had no records."""
        return self._fulfilment is not None and self._fulfilment.reached(nexts) != self._fulfilment.told

    def require_own(self) -> None:
        """OvertakenError if a newer archiver has begun. What was appended since the last such question is then its."""
        newest = next(_commits(self._spark, self._place), None)
        # One that was interrupted may have been committed all the same.
        if newest is None or newest.term != self.term or not self._certain <= newest.number <= self._number:
            raise OvertakenError(
                f"Another archiver has taken over {self._place.url}: it began later, and goes on where this one was. "
                "One is enough: it reads all topics."
            )

    def _write(self, records: "DataFrame", commit: Commit) -> None:
        (
            records.write.format("delta")
            .mode("append")
            .option("txnAppId", _APPLICATION)
            .option("txnVersion", (commit.term << _TERM_BITS) + commit.number)
            .option("userMetadata", commit.text)
            .save(self._place.records)
        )


def next_offsets(spark: "SparkSession", place: Place) -> dict[Slice, int]:
    """Where each partition goes on: by the newest commit, or if Delta has forgotten that one, by the records."""
    is_whole = False
    for version, commit in _history(spark, place):
        if commit is not None and commit.nexts is not None:
            return dict(commit.nexts)
        is_whole = version == 0
    if is_whole:
        return {}  # no commit is forgotten; to look for records where there are none takes half a second
    from pyspark.sql import functions

    found = read(spark, place.records).groupBy("topic_id", "partition").agg(functions.max("offset").alias("last"))
    return {(row.topic_id, row.partition): row.last + 1 for row in found.collect()}


def fulfilled_by(spark: "SparkSession", place: Place, version: int | None = None) -> dict[Slice, int] | None:
    """By the newest commit that tells it, up to that version of the table; None if none does."""
    for commit in _commits(spark, place, version):
        if commit.fulfilled is not None:
            return dict(commit.fulfilled)
    return None


def _commits(spark: "SparkSession", place: Place, version: int | None = None) -> Iterator[Commit]:
    """Ours, from the newest on, or from that version."""
    for each, commit in _history(spark, place):
        if commit is not None and (version is None or each <= version):
            yield commit


def _history(spark: "SparkSession", place: Place) -> Iterator[tuple[int, Commit | None]]:
    """Versions, from the newest on, back to 0 or as far as Delta knows; others' commits are of OPTIMIZE or VACUUM."""
    from delta.tables import DeltaTable

    table = DeltaTable.forPath(spark, place.records)
    told = 0
    for limit in _HISTORY:
        rows = (table.history() if limit is None else table.history(limit)).select("version", "userMetadata").collect()
        for row in rows[told:]:
            yield row.version, Commit.parse(row.userMetadata)
        if limit is not None and len(rows) < limit:
            return
        told = len(rows)


@dataclass(frozen=True, slots=True)
class Beginning:
    """From where on the archive has all records of a partition, until its next beginning."""

    topic: str
    slice: Slice
    offset: int
    """The first one that was read."""
    missing_from: int
    """From here to `offset` Kafka had nothing left."""
    compacted_to: int
    """Before this, from `offset` on, compaction may have taken records before they were read."""

    @property
    def is_loss(self) -> bool:
        return self.missing_from < self.offset


def add_beginnings(spark: "SparkSession", place: Place, beginnings: Iterable[Beginning]) -> None:
    now = datetime.now(UTC).isoformat()
    rows = [(b.topic, *b.slice, now, b.offset, b.missing_from, b.compacted_to) for b in beginnings]
    if rows:
        columns = (
            "topic string, topic_id string, partition int, at timestamp, offset long, missing_from long, "
            "compacted_to long"
        )
        frame_of(spark, rows, columns).write.format("delta").mode("append").save(place.beginnings)


def beginnings_of(spark: "SparkSession", place: Place) -> list[Beginning]:
    """In the order in which they were written."""
    return [
        Beginning(row.topic, (row.topic_id, row.partition), row.offset, row.missing_from, row.compacted_to)
        for row in read(spark, place.beginnings).orderBy("at", "topic_id", "partition", "offset").collect()
    ]

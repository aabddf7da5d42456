"""Whether the archive has each record once: counted in itself, and held against what Kafka still has.

In the archive alone, that offsets are missing says little: markers of transactions, aborted records and compaction
leave such gaps too. So wherever Kafka still has a partition, both are laid side by side, offset by offset.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis.broker.configuration import Settings
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_plan import Topics, topics_of
from tamis.spark_sink.archive_stream import assigned, by_topic, kafka_options
from tamis.spark_sink.archive_tables import Slice, next_offsets, read, require
from tamis.spark_sink.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_IDENTITY = ("topic_id", "partition", "offset")


@dataclass(frozen=True, slots=True)
class Verdict:
    """On one partition."""

    topic: str
    topic_id: str
    partition: int
    rows: int
    doubled: int
    """Rows more than there are offsets."""
    beyond: int
    """Rows from where on the archive says that it has nothing yet."""
    compared: int
    """Records that Kafka still has, where the archive should have them."""
    missing: int
    """Of them, those that it has not."""
    first_missing: int | None
    differing: int
    """Of them, those whose key or value is another one."""
    foreign: int
    """Rows that Kafka has not, although nothing was compacted: never written, or aborted."""

    @property
    def is_right(self) -> bool:
        return not (self.doubled or self.beyond or self.missing or self.differing or self.foreign)


def verify(spark: "SparkSession", settings: Settings, place: Place) -> list[Verdict]:
    """By topic and partition. MissingError if there is no archive."""
    require(spark, place)
    nexts = next_offsets(spark, place)
    # Asked for before anything is counted: what comes meanwhile is no part of this.
    topics = topics_of(settings, notifications=True)
    compared = _compared(spark, settings, place, topics, nexts)
    found: list[Verdict] = []
    for topic, which, rows, distinct, beyond in _counted(spark, place, nexts):
        there = compared.pop(which, _NOTHING)
        found.append(
            Verdict(
                topic,
                *which,
                rows=rows,
                doubled=rows - distinct,
                beyond=beyond,
                compared=there.records,
                missing=there.missing,
                first_missing=there.first_missing,
                differing=there.differing,
                foreign=0 if _is_compacted(topics, topic) else there.foreign,
            )
        )
    names = {log.slice: log.topic for log in topics.logs}
    for which, there in compared.items():  # of which the archive has no row at all
        found.append(Verdict(names[which], *which, 0, 0, 0, there.records, there.missing, there.first_missing, 0, 0))
    return sorted(found, key=lambda each: (each.topic, each.topic_id, each.partition))


def _is_compacted(topics: Topics, topic: str) -> bool:
    fact = topics.facts.get(topic)
    return fact is None or fact.config is None or "compact" in fact.config.get("cleanup.policy", "")


def _counted(spark: "SparkSession", place: Place, nexts: Mapping[Slice, int]) -> list[tuple[str, Slice, int, int, int]]:
    """Topic, slice, rows, offsets, and how many of the rows are beyond what was committed."""
    from pyspark.sql import functions

    bounds = _bounds(spark, nexts)
    copies = read(spark, place.records).groupBy("topic", *_IDENTITY).count()
    sums = (
        copies.join(functions.broadcast(bounds), ["topic_id", "partition"], "left")
        .groupBy("topic", "topic_id", "partition")
        .agg(
            functions.sum("count").alias("rows"),
            functions.count("*").alias("offsets"),
            functions.sum(functions.expr("if(offset >= coalesce(next, 0), count, 0)")).alias("beyond"),
        )
    )
    return [(row.topic, (row.topic_id, row.partition), row.rows, row.offsets, row.beyond) for row in sums.collect()]


def _bounds(spark: "SparkSession", nexts: Mapping[Slice, int]) -> "DataFrame":
    rows = [(*which, offset) for which, offset in nexts.items()]
    return frame_of(spark, rows, "topic_id string, partition int, next long")


@dataclass(frozen=True, slots=True)
class _There:
    """What came of one partition's comparison."""

    records: int = 0
    missing: int = 0
    first_missing: int | None = None
    differing: int = 0
    foreign: int = 0


_NOTHING = _There()


def _compared(
    spark: "SparkSession", settings: Settings, place: Place, topics: Topics, nexts: Mapping[Slice, int]
) -> dict[Slice, _There]:
    """Of partitions that Kafka still has some of, where the archive was already."""
    from pyspark.sql import functions

    starts = {log.place: log.low for log in topics.logs if log.low < nexts.get(log.slice, 0)}
    if not starts:
        return {}
    slices = {log.place: log.slice for log in topics.logs}
    ends = {at: nexts[slices[at]] for at in starts}
    kafka = (
        spark.read.format("kafka")
        .options(**kafka_options(settings))
        .option("assign", assigned(starts))
        .option("startingOffsets", by_topic(starts))
        .option("endingOffsets", by_topic(ends))
        .option("failOnDataLoss", "false")  # what goes while it is read does so before its turn, and is none to compare
        .load()
    )
    ranges = frame_of(
        spark,
        [
            (topic, *slices[topic, partition], start, ends[topic, partition])
            for (topic, partition), start in starts.items()
        ],
        "topic string, topic_id string, partition int, begins long, ends long",
    )
    digest = functions.xxhash64("key", "value")
    theirs = (
        kafka.select("topic", "partition", "offset", digest.alias("theirs"))
        .join(functions.broadcast(ranges), ["topic", "partition"])
        .select(*_IDENTITY, "theirs")
    )
    ours = (
        read(spark, place.records)
        .join(functions.broadcast(ranges.drop("topic")), ["topic_id", "partition"])
        .where("offset >= begins and offset < ends")
        .groupBy(*_IDENTITY)
        .agg(functions.first(digest).alias("ours"))
    )
    sides = theirs.join(ours, list(_IDENTITY), "full_outer")
    sums = sides.groupBy("topic_id", "partition").agg(
        functions.count("theirs").alias("records"),
        functions.sum(functions.expr("if(ours is null, 1, 0)")).alias("missing"),
        functions.min(functions.expr("if(ours is null, offset, null)")).alias("first_missing"),
        functions.sum(functions.expr("if(ours <> theirs, 1, 0)")).alias("differing"),
        functions.sum(functions.expr("if(theirs is null, 1, 0)")).alias("foreign"),
        functions.max(functions.expr("if(theirs is null, offset, null)")).alias("last_foreign"),
    )
    found: dict[Slice, _There] = {}
    lows = _lows_now(settings)
    for row in sums.collect():
        which = row.topic_id, row.partition
        # Retention may have gone on meanwhile: what it took was there, and is in the archive alone now.
        foreign = row.foreign if row.foreign and row.last_foreign >= lows.get(which, 0) else 0
        found[which] = _There(row.records, row.missing, row.first_missing, row.differing, foreign)
    return found


def _lows_now(settings: Settings) -> dict[Slice, int]:
    return {log.slice: log.low for log in topics_of(settings, notifications=True).logs}

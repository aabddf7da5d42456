"""How far the archive is in each partition, from where on it is whole, and whether Kafka could forget what it lacks."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from tamis.broker.configuration import Settings
from tamis.broker.topic_facts import TopicFacts
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_plan import Log, Topics, compacted_to, first_not_before, topics_of
from tamis.spark_sink.archive_tables import Beginning, Slice, beginnings_of, next_offsets, read, require
from tamis.spark_sink.frames import frame_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_ALARM = 0.5
"""Of the time that Kafka keeps a record, or leaves it uncompacted: one that waits for longer is an alarm."""


class State(StrEnum):
    """Of one partition."""

    OK = "ok"
    LATE = "late"
    """Retention or compaction takes what is not archived yet, if nothing happens."""
    LOST = "lost"
    """It has taken some of it."""
    ENDED = "ended"
    """The topic is not there any more, or was made anew: what was archived of it is kept."""
    NEW = "new"
    """Nothing of it was archived yet."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What there is of one partition."""

    rows: int
    bytes: int
    """On disk; of a file that has several partitions, by their shares of its rows."""


@dataclass(frozen=True, slots=True)
class PartitionStatus:
    """Of one partition of one topic, as long as it had one id."""

    topic: str
    topic_id: str
    partition: int
    state: State
    archived_to: int | None
    """The next offset."""
    end: int | None
    """In Kafka; None if the topic has ended."""
    lag: int | None
    rows: int
    bytes: int
    whole_since: int | None
    """From this offset on nothing is missing."""
    lost: int
    """Offsets that Kafka had no more when the archive came to them."""


def status(spark: "SparkSession", settings: Settings, place: Place, *, notifications: bool) -> list[PartitionStatus]:
    """By topic and partition. MissingError if there is no archive."""
    require(spark, place)
    nexts = next_offsets(spark, place)
    stored = _stored(spark, place)
    begun = beginnings_of(spark, place)
    names = {each.slice: each.topic for each in begun}
    of_subscribers = settings.names.notifications("")
    notifications = notifications or any(topic.startswith(of_subscribers) for topic in names.values())
    topics = topics_of(settings, notifications=notifications)
    logs = {log.slice: log for log in topics.logs}
    names |= {log.slice: log.topic for log in topics.logs}
    late = _late(settings, topics)
    whole = _whole(spark, place, begun, nexts)
    lost = _lost(begun)
    found: list[PartitionStatus] = []
    for which in sorted(nexts.keys() | logs.keys(), key=lambda each: (names.get(each, ""), each)):
        log, at = logs.get(which), nexts.get(which)
        kept = stored.get(which, Stored(0, 0))
        found.append(
            PartitionStatus(
                topic=names.get(which, ""),
                topic_id=which[0],
                partition=which[1],
                state=_state(log, at, late.get(which, 0)),
                archived_to=at,
                end=None if log is None else log.end,
                lag=None if log is None else log.end - (log.low if at is None else at),
                rows=kept.rows,
                bytes=kept.bytes,
                whole_since=whole.get(which),
                lost=lost.get(which, 0),
            )
        )
    return found


def _state(log: Log | None, at: int | None, late_below: int) -> State:
    if log is None:
        return State.ENDED
    if at is None:
        return State.NEW if log.low >= late_below or log.low == log.end else State.LATE
    if at < log.low:
        return State.LOST
    return State.LATE if at < min(late_below, log.end) else State.OK


def _late(settings: Settings, topics: Topics) -> dict[Slice, int]:
    """Before which offset records are so old that they should be archived."""
    slices = {log.place: log.slice for log in topics.logs}
    retained = {fact.name: _retention(fact) for fact in topics.facts.values()}
    now = time.time_ns() // 1_000_000
    asked = {log.place: now - round(kept * _ALARM) for log in topics.logs if (kept := retained[log.topic]) is not None}
    found = first_not_before(settings, topics, asked)
    by_compaction = {
        place: offset
        for place, offset in compacted_to(settings, topics, _ALARM).items()
        # Without a time of grace compaction may come at any moment: that is how the topic was made, and no alarm.
        if _has_grace(topics.facts[place[0]])
    }
    for place, offset in by_compaction.items():
        found[place] = max(offset, found.get(place, 0))
    return {slices[place]: offset for place, offset in found.items()}


def _retention(fact: TopicFacts) -> int | None:
    """In milliseconds; None if time takes nothing, or we may not know."""
    config = fact.config or {}
    milliseconds = int(config.get("retention.ms", "-1"))
    return milliseconds if milliseconds >= 0 and "delete" in config.get("cleanup.policy", "") else None


def _has_grace(fact: TopicFacts) -> bool:
    return int((fact.config or {}).get("min.compaction.lag.ms", "0")) > 0


def _stored(spark: "SparkSession", place: Place) -> dict[Slice, Stored]:
    """No value is read for this: only which partitions there are in which files, and how often."""
    from pyspark.sql import functions

    table = read(spark, place.records).select(
        "topic_id", "partition", "_metadata.file_path", functions.col("_metadata.file_size").alias("size")
    )
    files = table.groupBy("topic_id", "partition", "file_path", "size").count().collect()
    totals: dict[str, int] = {}
    for row in files:
        totals[row.file_path] = totals.get(row.file_path, 0) + row["count"]
    found: dict[Slice, Stored] = {}
    for row in files:
        before = found.get((row.topic_id, row.partition), Stored(0, 0))
        share = row.size * row["count"] // totals[row.file_path]
        found[row.topic_id, row.partition] = Stored(before.rows + row["count"], before.bytes + share)
    return found


def whole_from(spark: "SparkSession", place: Place) -> dict[Slice, int]:
    """From where on the archive has all records of each partition."""
    return _whole(spark, place, beginnings_of(spark, place), next_offsets(spark, place))


def _whole(spark: "SparkSession", place: Place, begun: list[Beginning], nexts: Mapping[Slice, int]) -> dict[Slice, int]:
    """From where on each partition has everything.

    Where compaction may have taken something, and offsets are missing indeed, a later record of the same key is there,
    but nobody knows which: so it is whole only from where that one must have been.
    """
    suspects = [each for each in begun if each.offset < each.compacted_to]
    there = _counted(spark, place, suspects)
    found: dict[Slice, int] = {}
    for each in begun:
        first = each.slice not in found
        holds_all = there.get((each.slice, each.offset), 0) == each.compacted_to - each.offset
        if each.offset < each.compacted_to and not holds_all:
            found[each.slice] = each.compacted_to
        elif first or each.is_loss:
            found[each.slice] = each.offset
    # What was begun and not read yet is no beginning so far.
    return {which: offset for which, offset in found.items() if which in nexts}


def _counted(spark: "SparkSession", place: Place, suspects: list[Beginning]) -> dict[tuple[Slice, int], int]:
    """How many records there are of what compaction may have gone through."""
    from pyspark.sql import functions

    if not suspects:
        return {}
    rows = [(*each.slice, each.offset, each.compacted_to) for each in suspects]
    ranges = frame_of(spark, rows, "topic_id string, partition int, begins long, ends long").distinct()
    records = read(spark, place.records).where(functions.col("topic").isin(sorted({each.topic for each in suspects})))
    counts = (
        records.join(functions.broadcast(ranges), ["topic_id", "partition"])
        .where("offset >= begins and offset < ends")
        .groupBy("topic_id", "partition", "begins")
        .agg(functions.countDistinct("offset").alias("there"))
    )
    return {((row.topic_id, row.partition), row.begins): row.there for row in counts.collect()}


def _lost(begun: list[Beginning]) -> dict[Slice, int]:
    """Each once, also if an archiver ended between noting a loss and going on behind it."""
    ranges: dict[tuple[Slice, int], int] = {}
    for each in begun:
        if each.is_loss:
            key = each.slice, each.missing_from
            ranges[key] = max(each.offset, ranges.get(key, 0))
    found: dict[Slice, int] = {}
    for (which, start), end in ranges.items():
        found[which] = found.get(which, 0) + end - start
    return found

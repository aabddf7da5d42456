"""Replaying what Kafka itself still has: the same columns as an archive's, between offsets that are asked for once."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError
from tamis.broker.kafka import admin_client
from tamis.broker.positions import END, START, Position, resolved
from tamis.broker.reading import partitions_known_to
from tamis.broker.topic_facts import topic_ids
from tamis.spark_sink.archive_plan import compacted_to, topics_of
from tamis.spark_sink.archive_stream import assigned, by_topic, kafka_options, with_ids
from tamis.spark_sink.fulfilment import WAIT_SECONDS, Fulfilled, await_kept, promised
from tamis.spark_sink.replay_sources import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

_SECONDS = 10.0
Offsets = Mapping[int, int]


class KafkaSource:
    """Committed records. What is written after a topic was first asked for is not seen."""

    def __init__(
        self, session: "SparkSession", settings: Settings, start: Position = START, end: Position = END
    ) -> None:
        self._session = session
        self._settings = settings
        self._interval = (start, end)
        self._admin = admin_client(settings.kafka)
        self._bounds: dict[tuple[str, bool], tuple[Offsets, Offsets]] = {}
        """By topic, and whether only its interval is meant."""

    def events(self, topics: Sequence[str]) -> "DataFrame":
        return self._read(topics, of_interval=True)

    def others(self, topics: Sequence[str]) -> "DataFrame":
        """None that lie between two events of the interval: it is one of offsets."""
        return self._read(topics, of_interval=True).where("false")

    def records(self, topics: Sequence[str]) -> "DataFrame":
        return self._read(topics, of_interval=False)

    def notifications(self, prefix: str) -> "DataFrame":
        there = self._admin.list_topics(timeout=_SECONDS).topics
        return self._read(sorted(topic for topic in there if topic.startswith(prefix)), of_interval=False)

    def whole_from(self, topic: str) -> Mapping[tuple[str, int], int]:
        """Compaction takes no record that is younger than the topic's time of grace."""
        topics = topics_of(self._settings, notifications=False)
        ids = topics.ids
        grace = compacted_to(self._settings, topics, 1.0)
        return {(ids[name], partition): offset for (name, partition), offset in grace.items() if name == topic}

    def fulfilled(self) -> Fulfilled:
        promise, there = promised(self._settings)
        if not await_kept(self._settings, promise, there):
            raise ConflictError(
                f"For {WAIT_SECONDS:g} seconds a transaction of Tamis has been open, or a partition without leader: "
                "what came cannot be told yet. Is a broker stuck? tamis lag and tamis topics check tell more."
            )
        return promise.fulfilled

    def _read(self, topics: Sequence[str], *, of_interval: bool) -> "DataFrame":
        ids = topic_ids(self._admin, list(topics), _SECONDS)
        starts: dict[tuple[str, int], int] = {}
        ends: dict[tuple[str, int], int] = {}
        for topic in ids:
            low, high = self._bounds_of(topic, of_interval=of_interval)
            starts |= {(topic, partition): offset for partition, offset in low.items()}
            ends |= {(topic, partition): max(low[partition], offset) for partition, offset in high.items()}
        if not starts:
            return self._session.createDataFrame([], _SCHEMA)
        read = (
            self._session.read.format("kafka")
            .options(**kafka_options(self._settings))
            .option("assign", assigned(starts))
            .option("startingOffsets", by_topic(starts))
            .option("endingOffsets", by_topic(ends))
            .load()
        )
        return with_ids(self._session, read, ids).select(*COLUMNS)

    def _bounds_of(self, topic: str, *, of_interval: bool) -> tuple[Offsets, Offsets]:
        known = (topic, of_interval)
        if known not in self._bounds:
            partitions = partitions_known_to(self._admin, self._settings.kafka, topic, _SECONDS)
            start, end = self._interval if of_interval else (START, END)
            self._bounds[known] = (
                resolved(self._admin, topic, partitions, start, _SECONDS),
                resolved(self._admin, topic, partitions, end, _SECONDS),
            )
        return self._bounds[known]


_SCHEMA = (
    "topic string, topic_id string, partition int, offset bigint, timestamp timestamp, key binary, value binary, "
    "headers array<struct<key: string, value: binary>>"
)

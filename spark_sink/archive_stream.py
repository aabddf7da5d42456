"""The stream from Kafka into the archive, for as long as its topics stay as they were planned.

Spark plans each batch: for each partition, from where to where. It notes the ends in a folder of its own before it
reads; from there they go into the commit, beside the records. That folder is for one stream and goes with it: where to
go on afterwards is asked of the archive alone.
"""

import json
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, UnreachableError
from tamis.broker.lag_ends import Place
from tamis.spark_sink.archive_plan import Plan, ids_now
from tamis.spark_sink.archive_tables import Writer, records_schema
from tamis.spark_sink.errors import ArchiveError, LostError
from tamis.spark_sink.frames import frame_of
from tamis.spark_sink.java_client import java_properties

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOG_APPEND_TIME = 1
_POLL_SECONDS = 1
_OWN_SECONDS = 10.0
"""How long an archiver may not know that a newer one has begun; what it appends then is left out anyway."""
_MAP_MAX = 32
"""Of so many topics, the id is looked up within the row's own code; of more, by a join."""
_LOST = ("OffsetOutOfRange", "data loss", "failOnDataLoss", "DATA_LOSS", "KAFKA_DATA_LOSS", "are lost", "aged out")


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is read at once, and how often."""

    records: int = 5_000_000
    """In one commit, at most: offsets of all topics together."""
    seconds: float | None = None
    """Between batches; None: as fast as it goes, up to what is there at the start."""


def kafka_options(settings: Settings) -> dict[str, str]:
    """For Spark's own connector. The values hold passwords and keys."""
    return {
        **{f"kafka.{key}": value for key, value in java_properties(settings.kafka).items()},
        "kafka.isolation.level": "read_committed",
        # Each range ends in a marker of a transaction, behind which nothing comes: Kafka waits so long for more.
        "kafka.fetch.max.wait.ms": "20",
        "includeHeaders": "true",
    }


def by_topic(offsets: Mapping[Place, int]) -> str:
    """As Spark's connector takes them."""
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in offsets.items():
        found.setdefault(topic, {})[str(partition)] = offset
    return json.dumps(found)


def assigned(places: Mapping[Place, int]) -> str:
    found: dict[str, list[int]] = {}
    for topic, partition in places:
        found.setdefault(topic, []).append(partition)
    return json.dumps(found)


def source(spark: "SparkSession", settings: Settings, plan: Plan, pace: Pace) -> "DataFrame":
    """The records, in the columns of the archive."""
    from pyspark.sql import functions

    stream = (
        spark.readStream.format("kafka")
        .options(**kafka_options(settings))
        .option("assign", assigned(plan.starts))
        .option("startingOffsets", by_topic(plan.starts))
        .option("maxOffsetsPerTrigger", pace.records)
        .option("failOnDataLoss", "true")
        .load()
    )
    # A producer's clock could open any number of folders: its records are filed under the day of their archiving.
    day = functions.when(functions.col("timestampType") == _LOG_APPEND_TIME, functions.to_date("timestamp")).otherwise(
        functions.to_date(functions.current_timestamp())
    )
    named = with_ids(spark, stream, plan.topics.ids).withColumns(
        {"timestamp_type": functions.col("timestampType"), "day": day}
    )
    return named.select(*records_schema().fieldNames())


def with_ids(spark: "SparkSession", stream: "DataFrame", ids: Mapping[str, str]) -> "DataFrame":
    """And a column `topic_id`, by each record's topic."""
    from pyspark.sql import functions

    if len(ids) > _MAP_MAX:
        table = frame_of(spark, ids.items(), "topic string, topic_id string")
        return stream.join(functions.broadcast(table), "topic")

    def or_else(rest: "Column", one: tuple[str, str]) -> "Column":
        return functions.when(functions.col("topic") == one[0], functions.lit(one[1])).otherwise(rest)

    return stream.withColumn("topic_id", reduce(or_else, ids.items(), functions.lit(None).cast("string")))


class Stream:
    """One query, from its start to its end; `changed` if it ended because the topics did."""

    def __init__(self, spark: "SparkSession", settings: Settings, plan: Plan, writer: Writer, pace: Pace) -> None:
        self._spark = spark
        self._settings = settings
        self._plan = plan
        self._writer = writer
        self._pace = pace
        self._failure: BaseException | None = None
        self._is_ending = False
        """From when on a batch that fails has only been interrupted."""
        self._asked = time.monotonic()

    def run(self, stopping: Callable[[], bool], changed: Callable[[], bool]) -> None:
        """Until all is read that was there at the start; or, where the pace has seconds, until either says so."""
        from pyspark.errors import StreamingQueryException

        with tempfile.TemporaryDirectory(prefix="tamis-archive-") as notes:
            query = self._started(Path(notes))
            try:
                while query.isActive and not stopping() and not changed():
                    query.awaitTermination(_POLL_SECONDS)
                failure = query.exception()
            except StreamingQueryException as error:
                failure = error
            finally:
                self._is_ending = True
                query.stop()
        if self._failure is not None:
            raise self._failure
        if failure is not None:
            raise _explained(str(failure)) from failure
        self._writer.require_own()

    def _started(self, notes: Path) -> "StreamingQuery":
        def write(records: "DataFrame", number: int) -> None:
            try:
                self._write(records, _noted_ends(notes, number))
            except Exception as error:
                if self._failure is None and not self._is_ending:
                    self._failure = error
                raise

        writing = (
            source(self._spark, self._settings, self._plan, self._pace)
            .writeStream.foreachBatch(write)
            .queryName("tamis archive")
            .option("checkpointLocation", f"file:{notes}")
        )
        if self._pace.seconds is None:
            return writing.trigger(availableNow=True).start()
        return writing.trigger(processingTime=f"{self._pace.seconds} seconds").start()

    def _write(self, records: "DataFrame", ends: Mapping[Place, int]) -> None:
        ids = self._plan.topics.ids
        now = ids_now(self._settings, list(ids))
        for topic, id in ids.items():  # noqa: A001 - a word of this domain
            if now.get(topic) != id:
                raise ArchiveError(
                    f"{topic} was deleted{' and made anew' if topic in now else ''} while it was archived. Start the "
                    "archiver again: what was read of it is kept, and one made anew is another topic."
                )
        nexts = self._plan.nexts(ends)
        if nexts == self._plan.known and not self._writer.fulfils_more(nexts):
            return  # a stream's first batch comes even if there is nothing to read
        try:
            self._writer.append(records, nexts)
        except Exception as error:
            if "DELTA_CONCURRENT_TRANSACTION" not in str(error) and "ConcurrentTransaction" not in str(error):
                raise
            self._writer.require_own()
            raise
        if time.monotonic() - self._asked > _OWN_SECONDS:
            self._writer.require_own()
            self._asked = time.monotonic()


def _noted_ends(notes: Path, number: int) -> dict[Place, int]:
    """Where a batch ends in each partition, as Spark notes it: a version, a line about the batch, a line a source."""
    version, _about, *sources = (notes / "offsets" / str(number)).read_text().splitlines()
    if version != "v1" or len(sources) != 1:
        raise ArchiveError(f"Spark notes the offsets of batches in a way that is not known: {version}, {len(sources)}.")
    found: Any = json.loads(sources[0])
    return {(topic, int(partition)): end for topic, ends in found.items() for partition, end in ends.items()}


def _explained(said: str) -> BrokerError:
    first = next((line.strip() for line in said.splitlines() if line.strip()), said)
    if any(word in said for word in _LOST):
        return LostError(
            "Kafka no longer has records that were not archived yet: its retention was faster. Start the archiver "
            f"again to be told which; --accept-loss notes them and goes on. Spark says: {first}"
        )
    if "org.apache.kafka" in said:
        causes = [line.strip() for line in said.splitlines() if "org.apache.kafka" in line and "Exception" in line]
        return UnreachableError(f"Spark cannot read from Kafka: {causes[-1] if causes else first}")
    return ArchiveError(f"Spark stopped: {first}")

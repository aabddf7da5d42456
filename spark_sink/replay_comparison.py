"""What was delivered, beside what should have been: by a union of both and a grouped sum, which loses no double."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING

from tamis.broker.names import Names
from tamis.codecs.headers import RETRIED
from tamis.spark_sink import deliveries
from tamis.spark_sink.frames import frame_of
from tamis.spark_sink.fulfilment import Fulfilled
from tamis.spark_sink.replay_as_delivered import EventPlaces
from tamis.spark_sink.replay_sources import ReplaySource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_DELIVERIES = (
    "topic_id string, partition int, offset bigint, subscriber string, names array<string>, is_cut boolean, "
    "at_partition int, at_offset bigint"
)
_SETTLEMENTS = "at_partition int, at_offset bigint"
_EVENT = ("topic_id", "partition", "offset")
_KEY = (*_EVENT, "subscriber")
_RECORD = ("topic", "partition", "offset", "key", "value", "headers")


class Difference(StrEnum):
    """How a notification is not as it should be."""

    MISSING = "missing"
    UNEXPECTED = "unexpected"
    """Delivered, and should not have been."""
    TWICE = "twice"
    """Came more often than once."""
    MISNAMED = "misnamed"
    """Came once, but tells other subscriptions than those that matched."""
    STRANGE = "strange"
    """A record in a notification topic that is no notification."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """How many notifications there should be, how many there were, and what is wrong with them."""

    expected: int
    delivered: int
    differences: Mapping[Difference, int]
    """Notifications; of those that came too often, how many times too often."""
    uncompared: int = 0
    """Events whose notifications may still be on their way to what was read."""

    @property
    def is_empty(self) -> bool:
        return not any(self.differences.values())


def expected(matches: "DataFrame") -> "DataFrame":
    """A row for each event and subscriber that matched: `names`."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    parts = F.split("subscription", "/", 2)
    named = matches.select(*_EVENT, parts[0].alias("subscriber"), parts[1].alias("name"))
    return named.groupBy(*_KEY).agg(F.sort_array(F.collect_list("name")).alias("names"))


def delivered(source: ReplaySource, names: Names, fulfilled: Fulfilled) -> "DataFrame":
    """All that came, or waits in `tamis.undelivered`.

    One of those is sent after all and noted as that in one transaction, of which only one half may have been read. So a
    note counts from when both halves are there for certain; and what was sent tells itself what it was.
    """
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    prefix = names.notifications("")

    def told(records: "DataFrame") -> "DataFrame":
        return records.select(*_RECORD).mapInArrow(partial(deliveries.notified, prefix), _DELIVERIES)

    sent = source.notifications(prefix)
    came = told(sent)
    kept = source.records([names.undelivered])
    if kept.isEmpty():
        return came
    noted = inside(kept, {place: (0, end - 1) for place, end in fulfilled.items()})
    late = told(sent.where(F.exists("headers", lambda header: header["key"] == RETRIED)))
    settled = (
        noted.select(*_RECORD)
        .mapInArrow(deliveries.settled, _SETTLEMENTS)
        .unionByName(late.select("at_partition", "at_offset"))
    )
    waiting = kept.select(*_RECORD).mapInArrow(deliveries.undelivered, _DELIVERIES)
    return came.unionByName(waiting.join(settled, ["at_partition", "at_offset"], "left_anti"))


def comparable(places: EventPlaces, fulfilled: Fulfilled) -> EventPlaces:
    """The part of it in which all that came can have been read."""
    ends = {place: min(high, fulfilled.get(place, 0) - 1) for place, (_, high) in places.items()}
    return {place: (low, ends[place]) for place, (low, _) in places.items() if low <= ends[place]}


def inside(rows: "DataFrame", places: EventPlaces) -> "DataFrame":
    """Those of these places, by the row's topic id, partition and offset."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    bounds = [(topic_id, partition, low, high) for (topic_id, partition), (low, high) in places.items()]
    schema = "topic_id string, partition int, low bigint, high bigint"
    bounded = rows.join(F.broadcast(frame_of(rows.sparkSession, bounds, schema)), ["topic_id", "partition"])
    return bounded.where("offset between low and high").select(*rows.columns)


def within(found: "DataFrame", places: EventPlaces, outside: "DataFrame") -> "DataFrame":
    """Of what was delivered, that of events in these places which are not `outside`; and what tells no event."""
    compared = inside(found, places).join(outside, list(_EVENT), "left_anti")
    return compared.select(*found.columns).unionByName(found.where("topic_id is null"))


def differences(should: "DataFrame", came: "DataFrame") -> "DataFrame":
    """A row for each event and subscriber: how often it should have come, how often it came, and the `difference`."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    one, none = F.lit(1), F.lit(0)
    told = F.array_join("names", "/")  # which no name has
    both = should.select(
        *_KEY,
        told.alias("should"),
        F.lit(None).cast("string").alias("told"),
        one.alias("e"),
        none.alias("d"),
        F.lit(False).alias("is_cut"),  # noqa: FBT003 - a value
    ).unionByName(
        came.select(
            *_KEY,
            F.lit(None).cast("string").alias("should"),
            told.alias("told"),
            none.alias("e"),
            one.alias("d"),
            "is_cut",
        )
    )
    summed = both.groupBy(*_KEY).agg(
        F.sum("e").alias("expected"),
        F.sum("d").alias("delivered"),
        F.max("should").alias("should"),
        F.array_sort(F.collect_set("told")).alias("told"),
        F.max("is_cut").alias("is_cut"),
    )
    is_named = F.col("is_cut") | ((F.size("told") == 1) & (F.col("told")[0] == F.col("should")))
    difference = (
        F.when(F.col("topic_id").isNull(), Difference.STRANGE.value)
        .when(F.col("delivered") < F.col("expected"), Difference.MISSING.value)
        .when(F.col("expected") == 0, Difference.UNEXPECTED.value)
        .when(F.col("delivered") > F.col("expected"), Difference.TWICE.value)
        .when(~is_named, Difference.MISNAMED.value)
    )
    return summed.withColumn("difference", difference)


def compared(found: "DataFrame", uncompared: int = 0) -> Comparison:
    """What rows of `differences` come to."""
    from pyspark.sql import functions as F  # noqa: N812 - as everybody calls it

    over = F.when(F.col("difference") == Difference.TWICE.value, F.col("delivered") - F.col("expected"))
    count = F.coalesce(over, F.when(F.col("difference").isin("unexpected", "strange"), F.col("delivered")), F.lit(1))
    rows = found.groupBy("difference").agg(F.sum("expected"), F.sum("delivered"), F.sum(count).cast("long")).collect()
    return Comparison(
        sum(row[1] for row in rows),
        sum(row[2] for row in rows),
        {kind: next((row[3] for row in rows if row[0] == kind), 0) for kind in Difference},
        uncompared,
    )


def examples(found: "DataFrame", count: int) -> list[dict[str, object]]:
    """Some of those that differ, by their places."""
    wrong = found.where("difference is not null").orderBy(*_KEY).limit(count)
    return [row.asDict() for row in wrong.drop("is_cut").collect()]


def write(found: "DataFrame", folder: str) -> None:
    """Those that differ, as a table in Parquet: `differences`."""
    found.where("difference is not null").drop("is_cut").write.parquet(f"{folder}/differences")

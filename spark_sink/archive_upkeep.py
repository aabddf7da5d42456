"""Making few files of many, and removing those that nobody reads any more."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamis.broker.errors import InvalidError
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_tables import require

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SAFE_HOURS = 168
"""Delta's own bound, too."""
_CHECK = "spark.databricks.delta.retentionDurationCheck.enabled"


@dataclass(frozen=True, slots=True)
class Upkeep:
    """What was done."""

    files_before: int
    files: int
    bytes_before: int
    bytes: int
    vacuumed: bool


def optimize(spark: "SparkSession", place: Place, *, vacuum: bool = False, hours: float | None = None) -> Upkeep:
    """Rows stay as they are, so an archiver may run beside it. MissingError if there is no archive.

    `vacuum` removes files that no version of so many hours (by default a week) needs: what readers of old versions
    would read, and what archivers left behind that were killed. Fewer hours than a week may take a file from under an
    archiver that writes it: InvalidError, unless Delta is told that none does.
    """
    from delta.tables import DeltaTable

    require(spark, place)
    if hours is not None and hours < _SAFE_HOURS and spark.conf.get(_CHECK, "true") != "false":
        raise InvalidError(
            f"A file of the last {_SAFE_HOURS} hours may be one that an archiver is writing, or a replay reading: keep "
            f"those. If none runs until this has ended, say --conf {_CHECK}=false."
        )
    sizes: list[tuple[int, int]] = []
    for path in (place.records, place.beginnings):
        table = DeltaTable.forPath(spark, path)
        before = table.detail().select("numFiles", "sizeInBytes").collect()[0]
        table.optimize().executeCompaction()
        if vacuum:
            table.vacuum(hours)
        after = table.detail().select("numFiles", "sizeInBytes").collect()[0]
        sizes += [(before.numFiles, before.sizeInBytes), (after.numFiles, after.sizeInBytes)]
    (files_before, bytes_before), (files, bytes_after) = sizes[:2]
    return Upkeep(files_before, files, bytes_before, bytes_after, vacuum)

"""Few rows that the driver has, as a frame, without a Python worker: starting one takes longer than anything else."""

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def frame_of(spark: "SparkSession", rows: Iterable[Iterable[Any]], columns: str) -> "DataFrame":
    """`columns` are names and types, as in "topic string, next long"; values are as JSON has them."""
    names = [column.split()[0] for column in columns.split(",")]
    text = json.dumps([dict(zip(names, row, strict=True)) for row in rows])
    typed = ", ".join("`{}`: {}".format(*column.split()) for column in columns.split(","))
    return spark.sql(f"select inline(from_json(:text, 'array<struct<{typed}>>'))", args={"text": text})

"""Spark as tests have it: one small session a run, since starting one takes longer than most of what it is asked."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tamis.spark_sink.session import SparkOptions, spark_session

SMALL = {
    "spark.driver.memory": "1g",
    # Little is done often: the better compiler would not pay, nor would a collector that has threads of its own.
    "spark.driver.extraJavaOptions": "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:-UsePerfData",
    "spark.sql.shuffle.partitions": "2",
    "spark.databricks.delta.snapshotPartitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.ui.enabled": "false",
}


@contextmanager
def small_spark() -> Iterator[Any]:
    """Its Java process ends with it, not with the tests."""
    from pyspark import SparkContext

    with spark_session("tests", SparkOptions("local[2]", SMALL)) as session:
        yield session
    gateway: Any = SparkContext._gateway
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait()
    SparkContext._gateway = SparkContext._jvm = None

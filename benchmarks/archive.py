"""Archiving a topic, beside a bare Spark stream that copies it into a table of the same kind; and Spark's start.

    python -m benchmarks.archive [--events N] [--rounds N] [--download]

On a Kafka of its own. The bare copy is `readStream` of the same connector into `writeStream` of a Delta table, with
nothing that makes it an archive: no ids of topics, no days, no terms, no next offsets, no note of where it begins. One
is a single commit, and another has commits as large as the archive's. All start with an empty table, in turns, within
one session; what each takes is from the call to its return. That is done for a quarter of the events and for all: the
difference tells what an event takes, the rest how long a start does.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from benchmarks.report import Report
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.kafka import producer
from tamis.broker.topics import Wanted as WantedTopics
from tamis.broker.topics import create
from tamis.codecs.event import Event
from tamis.spark_sink.archive import Archiver, Wanted
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_stream import Pace, kafka_options
from tamis.spark_sink.session import spark_session

_PARTITIONS = 4
_BATCH = 5000
_NONE: Mapping[str, Any] = MappingProxyType({})
_START = (
    "import tamis.spark_sink.session as s, contextlib\nwith s.spark_session('start', s.SparkOptions(conf={conf})): pass"
)


def fill(settings: Settings, events: int) -> int:
    """So many events more, of ten attributes; how many bytes each has."""
    attributes = {f"attribute_{number}": (number * 7919 if number % 2 else f"value-{number}") for number in range(10)}
    client = producer(settings.kafka)
    value = b""
    for number in range(events):
        if number % 100 == 0:
            value = Event(f"event-{number}", number, attributes).encode()
        client.produce(settings.names.events, value, b"key-%d" % number, number % _PARTITIONS)
        if number % _BATCH == 0:
            client.flush(60)
    assert client.flush(300) == 0
    return len(value)


def bare(spark: Any, settings: Settings, folder: Path, options: Mapping[str, Any] = _NONE) -> None:
    stream = spark.readStream.format("kafka").options(**kafka_options(settings), **options)
    records = stream.option("subscribe", settings.names.events).option("startingOffsets", "earliest").load()
    copying = records.writeStream.format("delta").option("checkpointLocation", f"file:{folder}/checkpoint")
    copying.trigger(availableNow=True).start(f"file:{folder}/copy").awaitTermination()


def bare_in_commits(spark: Any, settings: Settings, folder: Path) -> None:
    bare(spark, settings, folder, {"maxOffsetsPerTrigger": Pace().records})


def archived(spark: Any, settings: Settings, folder: Path) -> None:
    Archiver(spark, settings, Place.at(str(folder)), Wanted()).run()


def seconds_of(work: Callable[[Any, Settings, Path], None], spark: Any, settings: Settings) -> float:
    with tempfile.TemporaryDirectory(prefix="tamis-benchmark-") as folder:
        began = time.perf_counter()
        work(spark, settings, Path(folder))
        return time.perf_counter() - began


def starts(report: Report, *, download: bool) -> None:
    """Of a process of its own, from its start to its end."""
    with tempfile.TemporaryDirectory(prefix="tamis-benchmark-") as folder:
        ways: dict[str, dict[str, str]] = {"packages in the cache": {}}
        if download:
            ways = {"nothing on disk (downloads 70 MB)": {"spark.jars.ivy": folder}} | ways
        for name, conf in ways.items():
            began = time.perf_counter()
            subprocess.run([sys.executable, "-c", _START.format(conf=conf)], check=True)
            report.row("Start and end of Spark", what=name, seconds=time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=4, help="the first one of each is not counted")
    parser.add_argument("--download", action="store_true", help="also start with nothing on disk")
    options = parser.parse_args()
    report = Report("archive")
    starts(report, download=options.download)
    works = {"bare copy": bare, "bare copy in such commits": bare_in_commits, "archive": archived}
    sizes = (options.events // 4, options.events)
    best: dict[tuple[str, int], float] = {}
    with LocalStack(StackOptions(redis=False)) as stack, spark_session("benchmark") as spark:
        settings, there = stack.settings, 0
        create(settings, WantedTopics(from_start=True, event_partitions=_PARTITIONS))
        for count in sizes:
            size = fill(settings, count - there)
            there = count
            taken: dict[str, list[float]] = {name: [] for name in works}
            for _ in range(options.rounds):
                for name, work in works.items():
                    taken[name].append(seconds_of(work, spark, settings))
            for name in works:
                seconds = best[name, count] = min(taken[name][1:] or taken[name])
                report.row(
                    f"{count:,} events of {size} bytes",
                    what=name,
                    seconds=seconds,
                    events_per_second=count / seconds,
                    of_the_bare_copy=best["bare copy", count] / seconds,
                )
    few, many = sizes
    each = {name: (best[name, many] - best[name, few]) / (many - few) for name in works}
    for name in works:
        report.row(
            "By the difference",
            what=name,
            events_per_second=1 / each[name],
            of_the_bare_copy=each["bare copy"] / each[name],
            seconds_of_a_start=best[name, few] - few * each[name],
        )
    report.show()
    report.keep()


if __name__ == "__main__":
    main()

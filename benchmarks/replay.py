"""Replaying: what it costs beside counting rows, and beside the naive way.

    python -m benchmarks.replay [--events 1000000] [--subscriptions 1000000]

Events lie in Parquet as an archive has them. Spark runs embedded, two tasks at a time; ways take turns, and the best
round of each counts. Rates are for a second of processor time, of Spark's Java process and of all Python workers, since
others may share the machine.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.report import Report
from tamis.codecs.event import Event
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.messages import Messages
from tamis.indexes import parse_many
from tamis.spark_sink.match_file import digest_of, load_match_file, write_match_file
from tamis.spark_sink.matching import INPUT, MatchTask, tallied
from tamis.spark_sink.replay import TALLIES
from tamis.spark_sink.replay_passes import Pass
from tamis.spark_sink.session import SparkOptions, spark_session
from tamis.spark_sink.versions import Version

_ROUNDS = 3
_BATCH = 10_000
_ATTRIBUTES = 10
_VALUES = 1_000
_FEW_SHARE = 20
"""Of so many events the naive way is given one, and so are a million subscriptions: it would take all day."""
_CONF = {"spark.driver.memory": "2g", "spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "2"}


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description="Measure replays.")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--subscriptions", type=int, default=1_000_000)
    options = parser.parse_args()
    report = Report("replay")
    with tempfile.TemporaryDirectory() as folder, spark_session("bench", SparkOptions("local[2]", _CONF)) as spark:
        bench = Bench(spark, Path(folder), options.events)
        bench.outside_matching(report)
        bench.with_subscriptions(report, options.subscriptions)
    report.show()
    print(f"\nKept in {report.keep()}")


class Bench:
    """One session, and events."""

    def __init__(self, spark: Any, folder: Path, count: int) -> None:
        self._spark = spark
        self._folder = folder
        self._count = count
        self._values = _events(count)
        _write(folder / "events", self._values)
        self._events = spark.read.parquet(str(folder / "events"))

    def outside_matching(self, report: Report) -> None:
        path = self._folder / "nothing.tamis"
        write_match_file(path, [Version("nobody/nothing", parse_many(["elsewhere = 1"])[0][0])])
        few = self._events.where(f"offset % {_FEW_SHARE} = 0").select("value")
        ways: dict[str, tuple[int, Callable[[], object]]] = {
            "bare: rows counted": (
                self._count,
                lambda: self._events.select(*_FOUR).mapInArrow(_counted, "n int").count(),
            ),
            "replay": (self._count, self._replay(path, self._events)),
            "naive: Python UDF, fastavro": (self._count // _FEW_SHARE, lambda: _naive(few)),
        }
        rates = self._rates(ways)
        for name, rate in rates.items():
            report.row(
                "Outside matching",
                way=name,
                **{"events a processor second": rate, "beside bare": rate / rates["bare: rows counted"]},
            )

    def with_subscriptions(self, report: Report, count: int) -> None:
        path = self._folder / "many.tamis"
        write_match_file(path, [Version(f"s/{n}", each) for n, each in enumerate(_expressions(count))])
        name, size = f"{digest_of(path)}.tamis", path.stat().st_size
        file = load_match_file(path, "pst-hash")
        engine = max(self._engine_alone(file.index) for _ in range(_ROUNDS))
        few = self._events.where(f"offset % {_FEW_SHARE} = 0")
        rates = self._rates({"replay": (self._count // _FEW_SHARE, self._replay(path, few))})
        title = f"{count:,} subscriptions"
        report.row(title, way="decoder and engine alone", **{"events a processor second": engine, "beside": 1.0})
        report.row(
            title, way="replay", **{"events a processor second": rates["replay"], "beside": rates["replay"] / engine}
        )
        memory = file.index.memory_bytes()
        workers = _workers_memory(name)
        table = "Memory of a Python worker, MB"
        report.row(table, what="the file, mapped", MB=size / 1e6)
        report.row(table, what="of it private in a worker", MB=workers / 1e6)
        report.row(table, what="the engine's own structure", MB=memory["structure"] / 1e6)

    def _replay(self, path: Path, events: Any) -> Callable[[], object]:
        one = Pass.of(path)
        self._spark.sparkContext.addFile(str(one.path))
        task = MatchTask(one.path.name, one.digest, "pst-hash")
        return lambda: events.select(*INPUT).mapInArrow(partial(tallied, task), TALLIES).count()

    def _engine_alone(self, index: Any) -> float:
        decoder = EventDecoder()
        began, done = time.process_time(), 0
        for first in range(0, self._count // _FEW_SHARE, _BATCH):
            values = self._values[first : first + _BATCH]
            places = np.arange(len(values))
            messages = Messages("tamis.events", 0, places, places, values)
            index.match_batch(decoder.decode(messages, index.vocabulary).batch)
            done += len(values)
        return done / (time.process_time() - began)

    def _rates(self, ways: dict[str, tuple[int, Callable[[], object]]]) -> dict[str, float]:
        best = dict.fromkeys(ways, 0.0)
        for _, work in ways.values():
            work()  # once for classes, workers and files
        for _ in range(_ROUNDS):
            for name, (count, work) in ways.items():
                began = _processor_seconds()
                work()
                best[name] = max(best[name], count / (_processor_seconds() - began))
        return best


_FOUR = ("topic", "partition", "offset", "value")


def _counted(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    count = sum(batch.num_rows for batch in batches)
    yield pa.RecordBatch.from_arrays([pa.array([count], pa.int32())], ["n"])


def _naive(values: Any) -> int:
    """As one would write it first: a function for each row."""
    from pyspark.sql import functions

    schema = _schema()

    def matches(value: bytes) -> bool:
        import io

        import fastavro

        event: Any = fastavro.schemaless_reader(io.BytesIO(bytes(value)[10:]), schema)
        return bool(event["attributes"].get("elsewhere") == 1)

    found: int = values.where(functions.udf(matches, "boolean")("value")).count()
    return found


def _schema() -> Any:
    import json

    from tamis.codecs.released import newest

    return json.loads(json.dumps(newest("Event").source))


def _events(count: int) -> list[bytes]:
    choose = random.Random(1)
    return [
        Event(f"e{number}", number, {f"a{place}": choose.randrange(_VALUES) for place in range(_ATTRIBUTES)}).encode()
        for number in range(count)
    ]


def _expressions(count: int) -> Any:
    """Three conditions each, of which the first asks for one value of a thousand."""
    choose = random.Random(2)
    texts = []
    for _ in range(count):
        first, second, third = choose.sample(range(_ATTRIBUTES), 3)
        bound = choose.randrange(_VALUES)
        texts.append(f"a{first} = {choose.randrange(_VALUES)} and a{second} < {bound} and a{third} >= {bound}")
    return parse_many(texts)[0]


def _write(folder: Path, values: list[bytes]) -> None:
    folder.mkdir()
    for part in range(4):
        some = values[part::4]
        count = len(some)
        table = pa.table(
            {
                "topic": pa.array(["tamis.events"] * count),
                "topic_id": pa.array(["AAAAAAAAAAAAAAAAAAAAAA"] * count),
                "partition": pa.array([part] * count, pa.int32()),
                "offset": pa.array(range(count), pa.int64()),
                "timestamp": pa.array([0] * count, pa.timestamp("us", "UTC")),
                "value": pa.array(some, pa.binary()),
            }
        )
        pq.write_table(table, folder / f"part-{part}.parquet")


def _processor_seconds() -> float:
    """Of this process's children, and of theirs that have ended."""
    found = 0.0
    for process in psutil.Process().children(recursive=True):
        times = process.cpu_times()
        found += times.user + times.system + times.children_user + times.children_system
    return found


def _workers_memory(name: str) -> float:
    """Of the file's mapping in Python workers, what is private to one: the most of them."""
    most = 0.0
    for process in psutil.Process().children(recursive=True):
        maps: list[Any] = process.memory_maps(grouped=True)
        for mapped in maps:
            if mapped.path.endswith(name):
                most = max(most, mapped.private_dirty)
    return most


if __name__ == "__main__":
    main()

"""The archive, on a real Kafka and a real Spark: one session, small, for all of it."""

import json
import logging
import os
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import duckdb
import pytest
from deltalake import DeltaTable

from broker_cluster import Cluster
from commands import Command
from processes import soon
from spark_sessions import small_spark
from tamis.broker.configuration import ArchiveSettings
from tamis.broker.kafka import AdminClient, NewTopic, TopicPartition, producer
from tamis.broker.topic_facts import awaited_facts
from tamis.spark_sink.archive import Archiver, Wanted
from tamis.spark_sink.archive_place import Place
from tamis.spark_sink.archive_stream import Pace
from tamis.spark_sink.archive_tables import Writer, next_offsets, read

pytestmark = [
    pytest.mark.timeout(600),
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),  # those of threads that Spark calls back in
]


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    with small_spark() as session:
        yield session


class Archived:
    """A Tamis and its archive."""

    def __init__(self, cluster: Cluster, tamis: Command, folder: Path) -> None:
        self.cluster = cluster
        self.tamis = tamis
        self.folder = folder

    def send(self, *values: str, partition: int = 0) -> None:
        for value in values:
            self.cluster.send(self.cluster.names.events, value.encode(), b"key", partition)
        self.cluster.flush()

    def transaction(self, *values: str, commits: bool) -> None:
        client = producer(self.cluster.settings.kafka, f"{self.cluster.names.prefix}-test")
        client.init_transactions(30)
        client.begin_transaction()
        for value in values:
            client.produce(self.cluster.names.events, value.encode(), b"key", 0)
        client.flush(30)
        client.commit_transaction(30) if commits else client.abort_transaction(30)

    def once(self, *options: str, code: int = 0) -> dict[str, Any]:
        printed = self.tamis("archive", "once", *options, "-o", "json", code=code)
        found: dict[str, Any] = json.loads(printed) if code == 0 else {}
        return found

    def status(self, topic: str, partition: int = 0, code: int = 0) -> dict[str, Any]:
        rows = self.tamis.rows("archive", "status", code=code)
        [row] = [
            row for row in rows if (row["topic"], row["partition"]) == (topic, partition) and row["state"] != "ended"
        ]
        return dict(row)

    def values(self, topic: str | None = None) -> list[str]:
        """As readers without Spark have them: DuckDB, on what the package `deltalake` finds."""
        records = DeltaTable(self.folder / "records").to_pyarrow_table()
        assert records.num_rows == len(set(zip(*(records[key].to_pylist() for key in _IDENTITY), strict=True)))
        rows = duckdb.execute(
            'select value from records where topic = ? order by topic_id, "partition", "offset"',
            [topic or self.cluster.names.events],
        ).fetchall()
        return [value.decode(errors="replace") for (value,) in rows]


_IDENTITY = ("topic_id", "partition", "offset")


@pytest.fixture
def archived(
    spark: Any,  # noqa: ARG001 - commands use the session that is there
    make_brokered: Callable[..., Cluster],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[Archived]:
    folder = tmp_path / "archive"
    cluster = make_brokered(archive=ArchiveSettings())
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", cluster.settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    monkeypatch.setenv("TAMIS_ARCHIVE__PATH", str(folder))
    tamis = Command.__new__(Command)
    tamis._capture, tamis.said = capsys, ""
    root = logging.getLogger()
    before = root.handlers[:], root.level
    yield Archived(cluster, tamis, folder)
    root.handlers[:], root.level = before  # commands log, as services do


def test_what_is_committed_is_there_once_however_often_it_is_archived(archived: Archived) -> None:
    events = archived.cluster.names.events
    archived.send("a", "b")
    archived.transaction("aborted", commits=False)
    archived.transaction("c", commits=True)
    assert archived.once()["records"] == 4  # and the layout
    assert archived.values() == ["a", "b", "c"]
    assert len(archived.values(archived.cluster.names.layout)) == 1
    assert archived.once()["records"] == 0
    archived.send("d", partition=1)
    assert archived.once()["records"] == 1
    assert archived.values() == ["a", "b", "c", "d"]
    told = archived.status(events)
    assert (told["state"], told["lag"], told["rows"], told["whole_since"], told["lost"]) == ("ok", 0, 3, 0, 0)
    archived.tamis("archive", "verify")
    assert "each of them once" in archived.tamis.said
    archived.tamis("archive", "optimize")
    assert archived.values() == ["a", "b", "c", "d"]
    assert archived.once()["records"] == 0


def test_what_killed_archivers_left_is_removed_and_nothing_else(archived: Archived) -> None:
    archived.send("a", "b")
    archived.once()
    whole = next(archived.folder.glob("records/topic=*events/day=*/*.parquet"))
    old, fresh = whole.with_name("part-old.parquet"), whole.with_name("part-fresh.parquet")
    for left in (old, fresh):
        left.write_bytes(whole.read_bytes())
    long_ago = time.time() - 8 * 24 * 3600
    os.utime(old, (long_ago, long_ago))
    archived.tamis("archive", "optimize", "--vacuum")
    assert (old.exists(), fresh.exists(), whole.exists()) == (False, True, True)
    archived.tamis("archive", "optimize", "--vacuum", "--keep-hours", "0", code=6)
    assert "an archiver is writing" in archived.tamis.said
    assert fresh.exists()
    assert archived.values() == ["a", "b"]


def test_a_topic_made_anew_is_another_topic_and_retention_is_no_secret(archived: Archived, admin: AdminClient) -> None:
    events = archived.cluster.names.events
    archived.send("a", "b", "c")
    archived.once()
    archived.cluster.delete_topic(events)
    archived.tamis("topics", "create", "--partitions", "4", code=5)
    admin.create_topics([NewTopic(events, 4)])[events].result()
    awaited_facts(admin, [events])
    archived.cluster.renew_producer()
    archived.send("A", "B", "C", "D", "E")
    archived.once()
    assert sorted(archived.values()) == ["A", "B", "C", "D", "E", "a", "b", "c"]
    archived.send("f", "g", "h")
    admin.delete_records([TopicPartition(events, 0, 7)])[TopicPartition(events, 0)].result()
    assert archived.status(events, code=1)["state"] == "lost"
    archived.once(code=5)
    assert f"no longer has offsets 5 to 6 of {events} [0]" in archived.tamis.said
    assert "--accept-loss" in archived.tamis.said
    done = archived.once("--accept-loss")
    assert (done["records"], done["lost"]) == (1, 2)
    told = archived.status(events)
    assert (told["state"], told["lost"], told["whole_since"]) == ("ok", 2, 7)
    archived.tamis("archive", "verify")


def test_verify_finds_what_is_missing_doubled_or_changed(archived: Archived, spark: Any) -> None:
    names = archived.cluster.names
    archived.send("a", "b", "c", "d")
    archived.once()
    records = Place.at(str(archived.folder)).records
    spark.sql(f"alter table delta.`{records}` set tblproperties ('delta.appendOnly' = 'false')")
    spark.sql(f"delete from delta.`{records}` where topic = '{names.events}' and offset = 1")
    spark.sql(
        f"insert into delta.`{records}` select * from delta.`{records}` where topic = '{names.events}' and offset = 2"
    )
    spark.sql(f"update delta.`{records}` set value = X'00' where topic = '{names.events}' and offset = 3")
    rows = archived.tamis.rows("archive", "verify", code=1)
    [row] = [row for row in rows if row["topic"] == names.events and row["partition"] == 0]
    assert (row["missing"], row["first_missing"], row["doubled"], row["differing"]) == (1, 1, 1, 1)
    assert sum(not row["right"] for row in rows) == 1


def test_an_older_archiver_that_goes_on_adds_nothing(archived: Archived, spark: Any) -> None:
    """Wherever it runs: no lock of this machine is asked."""
    archived.send("a")
    archived.once()
    place = Place.at(str(archived.folder))
    older = Writer(spark, place)
    newer = Writer(spark, place)
    rows = spark.read.format("delta").load(place.records)
    before, nexts = rows.count(), next_offsets(spark, place)
    older.append(rows, nexts)
    assert rows.count() == before
    with pytest.raises(Exception, match="Another archiver has taken over"):
        older.require_own()
    newer.append(rows.limit(1), nexts)
    newer.require_own()
    assert spark.read.format("delta").load(place.records).count() == before + 1


def test_an_older_archiver_that_is_in_the_midst_of_a_commit_does_not_finish_it(
    archived: Archived, spark: Any, tmp_path: Path
) -> None:
    """As one does whose process was killed while Spark's own one goes on for a moment."""
    archived.send("a")
    archived.once()
    place = Place.at(str(archived.folder))
    older = Writer(spark, place)
    rows = spark.read.format("delta").load(place.records)
    before, nexts = rows.count(), next_offsets(spark, place)
    begun, go_on = tmp_path / "begun", tmp_path / "go-on"

    def held(batches: Iterator[Any]) -> Iterator[Any]:
        begun.touch()
        while not go_on.exists():
            time.sleep(0.05)
        yield from batches

    slow = rows.coalesce(1).mapInArrow(held, rows.schema)  # one task, which leaves a core to the newer archiver
    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(older.append, slow, nexts)
        try:
            assert soon(lambda: begun.exists() or writing.done(), 120)
            newer = Writer(spark, place)
        finally:
            go_on.touch()
        assert "CONCURRENT_TRANSACTION" in str(writing.exception()), writing.exception()
    assert rows.count() == before
    newer.require_own()


def test_an_archiver_that_is_told_to_stop_in_the_midst_of_a_commit_ends_in_order(
    archived: Archived, spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is cut short is archived by the next one."""
    archived.send("a")
    begun = tmp_path / "begun"
    append = Writer.append

    def held(batches: Iterator[Any]) -> Iterator[Any]:
        begun.touch()
        time.sleep(60)
        yield from batches

    def slow(writer: Writer, records: Any, nexts: Any) -> None:
        append(writer, records.coalesce(1).mapInArrow(held, records.schema), nexts)

    settings, place = archived.cluster.settings, Place.at(str(archived.folder))
    with monkeypatch.context() as patched:
        patched.setattr(Writer, "append", slow)
        done = Archiver(spark, settings, place, Wanted(Pace(seconds=1))).run(begun.exists)
    assert (begun.exists(), done.records) == (True, 0)
    assert archived.once()["records"] > 0
    assert archived.values() == ["a"]


def test_a_second_archiver_of_this_machine_is_refused(archived: Archived) -> None:
    place = Place.at(str(archived.folder))
    with place.locked():
        archived.once(code=5)
    assert "Another process of this machine archives to" in archived.tamis.said


def test_where_delta_has_forgotten_the_commits_the_records_tell_where_to_go_on(archived: Archived, spark: Any) -> None:
    archived.send("a", "b")
    archived.once()
    place = Place.at(str(archived.folder))
    before = next_offsets(spark, place)
    read(spark, place.records).where("false").write.format("delta").mode("append").save(place.records)
    log = spark._jvm.org.apache.spark.sql.delta.DeltaLog
    log.forTable(spark._jsparkSession, place.records).checkpoint()
    *older, _ = sorted((archived.folder / "records" / "_delta_log").glob("*.json"))
    for each in older:
        each.unlink()
    log.clearCache()
    found = next_offsets(spark, place)
    assert 2 in found.values()
    assert found.items() <= before.items()


def test_what_is_wrong_is_one_message(archived: Archived, monkeypatch: pytest.MonkeyPatch) -> None:
    archived.tamis("archive", "status", code=4)
    assert "There is no archive at" in archived.tamis.said
    archived.tamis("archive", "once", "--conf", "nonsense", code=2)
    monkeypatch.delenv("TAMIS_ARCHIVE__PATH")
    archived.tamis("archive", "verify", code=2)
    assert "TAMIS_ARCHIVE__PATH" in archived.tamis.said

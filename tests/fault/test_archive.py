"""An archiver that is killed with kill -9, again and again, on a Kafka that lets it do just what it needs, over TLS."""

import json
import os
import signal
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType
from deltalake import DeltaTable

from certificates import Authority
from commands import TAMIS
from metrics_text import parsed
from processes import soon
from spark_sessions import SMALL
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack, StackOptions
from tamis.admin.local.ports import Ports
from tamis.broker.configuration import Settings
from tamis.broker.kafka import admin_client, producer
from tamis.broker.topics import Wanted, add, create

pytestmark = pytest.mark.timeout(900)
EVENTS = 20_000
BATCH = 4_000
KILLS = 2


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    with LocalStack(authority.secured(StackOptions(redis=False))) as stack:
        yield stack


def allow(settings: Settings, user: str) -> None:
    """To read, and to know about, the topics of this prefix; and the group that whoever reads the layout names."""
    admin = admin_client(settings.kafka)
    bindings = [
        AclBinding(kind, name, ResourcePatternType.PREFIXED, f"User:{user}", "*", operation, AclPermissionType.ALLOW)
        for kind, name, operation in [
            (ResourceType.TOPIC, f"{settings.prefix}.", AclOperation.READ),
            (ResourceType.TOPIC, f"{settings.prefix}.", AclOperation.DESCRIBE),
            (ResourceType.TOPIC, f"{settings.prefix}.", AclOperation.DESCRIBE_CONFIGS),
            (ResourceType.GROUP, settings.names.layout, AclOperation.DESCRIBE),
        ]
    ]
    for future in admin.create_acls(bindings).values():
        future.result()


def archiver(settings: Settings, folder: Path, *command: str) -> "subprocess.Popen[str]":
    options = [f"--conf={key}={value}" for key, value in SMALL.items()]
    return subprocess.Popen(
        [*TAMIS, "archive", *command, "--path", str(folder), *options, "-o", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env={
            **os.environ,
            "TAMIS_PREFIX": settings.prefix,
            "TAMIS_KAFKA__BOOTSTRAP_SERVERS": settings.kafka.bootstrap_servers,
            "TAMIS_KAFKA__EXTRA": json.dumps(settings.kafka.extra),
        },
    )


def data_files(folder: Path) -> int:
    return len(list(folder.glob("records/**/*.parquet")))


def commits(folder: Path) -> int:
    return len(list(folder.glob("records/_delta_log/*.json")))


def await_a_batch_in_the_midst(process: "subprocess.Popen[str]", folder: Path) -> int:
    """How many commits there are, when this process has made one of records and written a file of the next."""
    before = commits(folder)
    finished = files = 0
    while process.poll() is None:
        if commits(folder) != finished:
            finished, files = commits(folder), data_files(folder)
        elif finished > before + 1 and data_files(folder) > files:
            return finished
        time.sleep(0.002 if finished > before + 1 else 0.1)
    raise AssertionError(process.communicate())


def test_whatever_is_killed_each_committed_record_is_there_once(secured: LocalStack, tmp_path: Path) -> None:
    """Killed as soon as a batch has written its first file: it is not committed, or is so in just that moment."""
    settings = secured.settings
    names = settings.names
    create(settings, Wanted(from_start=True))
    client = producer(settings.kafka, "test")
    client.init_transactions(30)
    for number in range(EVENTS):
        if number % 1000 == 0:
            client.begin_transaction()
        client.produce(names.events, b"%d" % number, partition=number % 4)
        if number % 1000 == 999:
            client.flush(30)
            # Each third one is aborted.
            client.abort_transaction(30) if number // 1000 % 3 == 2 else client.commit_transaction(30)
    committed = {number for number in range(EVENTS) if number // 1000 % 3 != 2}
    allow(settings, "archiver")
    user = settings.model_copy(update={"kafka": secured.add_user("archiver")})
    folder = tmp_path / "archive"
    torn = 0
    for turn in range(KILLS):
        process = archiver(user, folder, "once", "--batch", str(BATCH))
        finished = await_a_batch_in_the_midst(process, folder)
        if turn % 2:
            process.kill()  # Spark's own process is on its own for a moment, and may still commit
        else:
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        torn += finished == commits(folder)
    assert torn, "no batch was cut short"
    process = archiver(user, folder, "once", "--batch", str(BATCH))
    printed, said = process.communicate()
    assert process.returncode == 0, said
    assert user.kafka.extra["sasl.password"] not in said
    assert json.loads(printed)["records"] > 0
    records = DeltaTable(folder / "records").to_pyarrow_table()
    assert records.num_rows == len(committed) + 1  # and the layout
    [(rows, distinct)] = duckdb.execute(
        "select count(*), count(distinct value) from records where topic = ?", [names.events]
    ).fetchall()
    assert rows == distinct == len(committed)
    values = duckdb.execute("select value from records where topic = ?", [names.events]).fetchall()
    assert {int(value) for (value,) in values} == committed


def archived(folder: Path, topic: str) -> list[bytes]:
    if not commits(folder):
        return []
    records = DeltaTable(folder / "records").to_pyarrow_table()  # noqa: F841 - DuckDB finds it by its name
    rows = duckdb.execute('select value from records where topic = ? order by "partition", "offset"', [topic])
    return [value for (value,) in rows.fetchall()]


def until(condition: Callable[[], bool], process: "subprocess.Popen[str]") -> None:
    """While the process runs; else what it said is told."""
    if not soon(lambda: condition() or process.poll() is not None, 180, pause=0.5) or process.poll() is not None:
        os.killpg(process.pid, signal.SIGKILL)
        pytest.fail("".join(process.communicate()))


def test_the_service_takes_topics_in_outlives_kafka_and_ends_in_order(ports: Ports, tmp_path: Path) -> None:
    with LocalStack(StackOptions(redis=False, properties=KILLED_KAFKAS)) as stack:
        settings = stack.settings
        events, folder = settings.names.events, tmp_path / "archive"
        create(settings, Wanted(from_start=True))

        def send(topic: str, value: bytes) -> None:
            client = producer(settings.kafka)
            client.produce(topic, value, partition=0)
            assert client.flush(60) == 0

        send(events, b"a")
        port = ports.claim()
        process = archiver(settings, folder, "run", "--every", "1", "--metrics", f"127.0.0.1:{port}")
        try:
            until(lambda: archived(folder, events) == [b"a"], process)
            stack.brokers[0].kill()
            time.sleep(5)
            stack.brokers[0].start()
            stack.wait_until_ready()
            add(settings, "more", partitions=2, from_start=True)
            send("more", b"m")
            send(events, b"b")
            until(lambda: archived(folder, events) == [b"a", b"b"], process)
            until(lambda: archived(folder, "more") == [b"m"], process)
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as answer:
                told = parsed(answer.read().decode())
            assert told["tamis_ready"].value() == 1
            assert told["tamis_archive_records_total"].value() >= 3
            assert told["tamis_archive_failures_total"].value() == told["tamis_archive_lag_offsets"].value() == 0
            # As service managers do: to all of its processes, Java's too.
            os.killpg(process.pid, signal.SIGTERM)
            printed, said = process.communicate(timeout=60)
        finally:
            process.kill()
        assert (process.returncode, printed) == (0, ""), said
        assert {json.loads(line)["event"] for line in said.splitlines() if line.startswith("{")} >= {"Archived"}
        assert "Traceback" not in said

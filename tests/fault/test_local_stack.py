"""The local stack itself, under what fault tests and users do to it. Needs Java; never Docker."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from processes import children, is_alive, soon
from stacks import KILLED_KAFKAS, StackKind, chosen_kind
from tamis.admin.local import LocalStack, StackError, StackOptions
from tamis.admin.local.cache import cache_folder
from tamis.admin.local.java import find_java
from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import (
    KafkaException,
    NewTopic,
    TopicPartition,
    admin_client,
    consumer,
    producer,
)

SECONDS = 20.0


@pytest.fixture(autouse=True, scope="module")
def _java_if_the_stack_is_local() -> None:
    if chosen_kind() is not StackKind.LOCAL:
        try:
            find_java()
        except StackError as error:
            pytest.skip(str(error))


@pytest.fixture(scope="module")
def stack() -> Iterator[LocalStack]:
    with LocalStack() as stack:
        yield stack


def make_topic(settings: KafkaSettings, name: str, replicas: int = 1) -> str:
    admin_client_of_test = admin_client(settings)
    admin_client_of_test.create_topics([NewTopic(name, 1, replicas)])[name].result()
    return name


def send(settings: KafkaSettings, topic: str, *values: str) -> None:
    """One batch a value."""
    client = producer(settings)
    for value in values:
        client.produce(topic, value)
        assert client.flush(SECONDS) == 0


def content(settings: KafkaSettings, topic: str) -> list[tuple[str, int | None]]:
    """Values and leader epochs, from the beginning to the end."""
    client = consumer(settings, "content", {"enable.partition.eof": True})
    try:
        client.assign([TopicPartition(topic, 0, 0)])
        found: list[tuple[str, int | None]] = []
        while True:
            message = client.poll(SECONDS)
            assert message is not None
            if message.error() is not None:
                return found
            value = message.value()
            assert value is not None
            found.append((value.decode(), message.leader_epoch()))
    finally:
        client.close()


def test_a_killed_broker_comes_back_with_its_records_on_its_port(stack: LocalStack) -> None:
    (broker,) = stack.brokers
    topic = make_topic(stack.settings.kafka, "killed")
    send(stack.settings.kafka, topic, "before")
    pid = broker.pid
    broker.kill()
    assert not is_alive(pid)
    with pytest.raises(StackError, match="kafka-1 ended by itself with exit code -9"):
        stack.require_running()
    broker.start()
    stack.wait_until_ready()
    send(stack.settings.kafka, topic, "after")
    assert [value for value, _epoch in content(stack.settings.kafka, topic)] == ["before", "after"]


def test_a_paused_broker_answers_nobody_until_it_is_resumed(stack: LocalStack) -> None:
    (broker,) = stack.brokers
    admin = admin_client(stack.settings.kafka, {"log_level": 0})
    broker.pause()
    try:
        with pytest.raises(KafkaException):
            admin.list_topics(timeout=1.0)
    finally:
        broker.resume()
    assert admin.list_topics(timeout=SECONDS).brokers


def test_a_log_that_is_cut_back_grows_again_under_another_leader_epoch(stack: LocalStack) -> None:
    topic = make_topic(stack.settings.kafka, "cut")
    other = make_topic(stack.settings.kafka, "uncut")
    send(stack.settings.kafka, topic, "0", "1", "2", "3", "4")
    send(stack.settings.kafka, other, "0", "1", "2")
    stack.cut_back(topic, 0, 2)
    assert [value for value, _epoch in content(stack.settings.kafka, topic)] == ["0", "1"]
    send(stack.settings.kafka, topic, "new")
    values, epochs = zip(*content(stack.settings.kafka, topic), strict=True)
    assert values == ("0", "1", "new")
    assert epochs[2] > epochs[1], "so that a reader can tell the new record from the lost one"
    assert [value for value, _epoch in content(stack.settings.kafka, other)] == ["0", "1", "2"]


def test_a_cut_that_cannot_be_made_leaves_the_stack_running(stack: LocalStack) -> None:
    with pytest.raises(StackError, match=r"No broker has a log of nowhere \[0\]"):
        stack.cut_back("nowhere", 0, 0)
    stack.require_running()
    topic = make_topic(stack.settings.kafka, "batched")
    client = producer(stack.settings.kafka, properties={"linger.ms": 1000})
    for value in ("0", "1", "2"):
        client.produce(topic, value)
    assert client.flush(SECONDS) == 0
    with pytest.raises(StackError, match="Offset 1 lies within a batch"):
        stack.cut_back(topic, 0, 1)
    assert [value for value, _epoch in content(stack.settings.kafka, topic)] == ["0", "1", "2"]


@pytest.mark.parametrize("name", ["with space", "caf\u00e9", "a,b"])
def test_what_the_temporary_folder_is_called_makes_no_difference(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / name
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with LocalStack(StackOptions(redis=False)) as stack:
        assert stack.brokers[0].data.is_relative_to(place)
        assert (stack.brokers[0].data / "meta.properties").exists()
    assert [path.name for path in tmp_path.iterdir()] == [name], "nothing lies beside it"
    assert not any(path.is_file() for path in place.rglob("*"))


def test_a_running_broker_is_not_started_twice(stack: LocalStack) -> None:
    with pytest.raises(StackError, match="kafka-1 runs already"):
        stack.brokers[0].start()


def test_two_stacks_at_once_do_not_meet(stack: LocalStack) -> None:
    with LocalStack() as other:
        make_topic(other.settings.kafka, "only-here")
        assert other.settings.redis != stack.settings.redis
        assert "only-here" not in admin_client(stack.settings.kafka).list_topics(timeout=SECONDS).topics


def test_first_starts_share_one_cache_and_repair_what_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No archive of Kafka's classes yet, so both write one; the cache ends with one that works."""
    shutil.copytree(cache_folder(), tmp_path / "tamis", ignore=shutil.ignore_patterns("classes*", "fetch-*", "ports"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))

    def start_and_stop(_number: int) -> None:
        with LocalStack(StackOptions(redis=False)):
            pass

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(start_and_stop, range(2)))
    (archive,) = tmp_path.glob("tamis/kafka-*/classes-*.jsa")
    assert words_of_a_life() == ["Starting Kafka"], "the archive was found good: nothing to fetch or to save"
    with archive.open("r+b") as file:
        file.seek(1_000_000)
        file.write(bytes(4096))
    assert words_of_a_life() == ["Starting Kafka", "Saving Kafka"], "a damaged archive is noticed, and written anew"
    assert words_of_a_life() == ["Starting Kafka"]


def words_of_a_life() -> list[str]:
    """The first two words of each line of progress, from a stack's start to its end."""
    said: list[str] = []
    with LocalStack(StackOptions(redis=False), said.append):
        pass
    return [" ".join(re.findall(r"\w+", line)[:2]) for line in said]


def test_three_brokers_replicate_and_outlive_the_loss_of_one() -> None:
    with LocalStack(StackOptions(brokers=3, redis=False, properties=KILLED_KAFKAS)) as stack:
        settings = stack.settings.kafka
        topic = make_topic(settings, "replicated", replicas=3)
        send(settings, topic, "0", "1", "2")
        partition = admin_client(settings).list_topics(topic, timeout=SECONDS).topics[topic].partitions[0]
        assert sorted(partition.replicas) == [1, 2, 3]
        leader = stack.brokers[partition.leader - 1]
        leader.kill()
        send(settings, topic, "3")
        assert [value for value, _epoch in content(settings, topic)] == ["0", "1", "2", "3"]
        leader.start()
        stack.wait_until_ready()
        stack.cut_back(topic, 0, 1)
        assert [value for value, _epoch in content(settings, topic)] == ["0"]


def test_a_secured_stack_lets_nobody_do_what_no_acl_allows() -> None:
    from confluent_kafka.admin import (
        AclBinding,
        AclOperation,
        AclPermissionType,
        ResourcePatternType,
        ResourceType,
    )

    with LocalStack(StackOptions(secured=True, redis=False)) as stack:
        settings = stack.settings.kafka
        topic = make_topic(settings, "guarded")
        reader = stack.add_user("reader")
        stranger = reader.model_copy(update={"extra": {**reader.extra, "sasl.password": "wrong"}})
        with pytest.raises(KafkaException):
            admin_client(stranger, {"log_level": 0}).list_topics(timeout=2.0)
        outbox = producer(reader)
        refused: list[str] = []
        outbox.produce(topic, "x", on_delivery=lambda error, _message: refused.append(error.name() if error else ""))
        outbox.flush(SECONDS)
        assert refused == ["TOPIC_AUTHORIZATION_FAILED"]
        allow = AclBinding(
            ResourceType.TOPIC,
            topic,
            ResourcePatternType.LITERAL,
            "User:reader",
            "*",
            AclOperation.WRITE,
            AclPermissionType.ALLOW,
        )
        admin_client_of_test = admin_client(settings)
        admin_client_of_test.create_acls([allow])[allow].result()
        assert soon(lambda: can_write(reader, topic))


def can_write(settings: KafkaSettings, topic: str) -> bool:
    client = producer(settings)
    delivered: list[bool] = []
    client.produce(topic, "allowed", on_delivery=lambda error, _message: delivered.append(error is None))
    client.flush(SECONDS)
    return delivered == [True]


def test_a_stack_that_fails_to_start_keeps_its_logs_and_says_where() -> None:
    options = StackOptions(redis=False, properties={"log.cleaner.threads": "no number"})
    with pytest.raises(StackError, match=r"(?s)log\.cleaner\.threads") as caught, LocalStack(options):
        pass
    (note,) = caught.value.__notes__
    logs = Path(note.removeprefix("The logs are kept in ").removesuffix("."))
    assert [path.suffix for path in logs.iterdir()] == [".log"]
    shutil.rmtree(logs.parent)


def test_an_exception_in_the_block_keeps_the_logs_and_its_end_removes_all_else() -> None:
    pids: list[int] = []

    def fail() -> None:
        with LocalStack() as stack:
            pids.append(stack.brokers[0].pid)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as caught:
        fail()
    logs = Path(caught.value.__notes__[0].removeprefix("The logs of the local stack are kept in ").rstrip("."))
    assert {path.name for path in logs.iterdir()} >= {"kafka-1.log", "redis.log"}
    assert [path.name for path in logs.parent.iterdir()] == ["logs"]
    assert not any(map(is_alive, pids))
    shutil.rmtree(logs.parent)


class Command:
    """`tamis dev` in a process of its own."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tamis.admin", "dev", "-o", "json"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_until_ready(self) -> None:
        assert self.process.stdout is not None
        self.ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", self.process.stdout.readline())]
        (self.keeper,) = children(self.process.pid)
        self.servers = [pid for pid in children(self.keeper) if is_alive(pid)]
        self.folder = Path(f"/proc/{self.servers[0]}/cwd").readlink()

    def end(self, number: signal.Signals | None = None) -> tuple[int, str]:
        """Its exit code and its talk, once it has ended, by a signal or by itself."""
        if number is not None:
            self.process.send_signal(number)
        _stdout, stderr = self.process.communicate(timeout=SECONDS)
        return self.process.returncode, stderr


@pytest.fixture
def command() -> Iterator[Command]:
    command = Command()
    try:
        command.wait_until_ready()
        yield command
    finally:
        command.process.kill()
        command.process.communicate()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize(
    ("number", "exit_code"), [(signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_tamis_dev_leaves_no_process_and_no_file_however_it_ends(
    command: Command, number: signal.Signals, exit_code: int
) -> None:
    assert len(command.servers) == 3
    for port in command.ports:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
    code, stderr = command.end(number)
    assert code == exit_code
    assert "Traceback" not in stderr
    assert soon(lambda: not any(map(is_alive, [command.keeper, *command.servers])))
    assert soon(lambda: not command.folder.exists())


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_tamis_dev_stops_in_order_when_its_reader_has_gone() -> None:
    line = f"{sys.executable} -m tamis.admin dev -o json -q | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
@pytest.mark.parametrize("server", [0, 2], ids=["redis", "tamis-broker"])
def test_tamis_dev_says_so_when_a_server_dies(command: Command, server: int) -> None:
    os.kill(command.servers[server], signal.SIGKILL)
    code, stderr = command.end()
    assert code == 3
    assert "ended by itself with exit code -9" in stderr
    assert "Traceback" not in stderr
    logs = re.search(r"kept in (\S+)\.$", stderr, re.MULTILINE)
    assert logs is not None
    shutil.rmtree(Path(logs[1]).parent)

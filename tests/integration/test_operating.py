"""What operators ask: how far brokers are, how much there is, and what is wrong. On a real Kafka and a real Redis."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from broker_cluster import Cluster
from processes import soon
from tamis.admin.cli import run
from tamis.admin.local.ports import Ports
from tamis.broker.configuration import MetricsSettings, Settings
from tamis.broker.kafka import TopicPartition, consumer, producer
from tamis.broker.lag import PartitionLag, lags, matched_up_to
from tamis.broker.redis import connect
from tamis.broker.service import serve
from tamis.broker.snapshot_tools import made
from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription

SECONDS = 60.0


class Command:
    """`tamis` in this process, on a cluster."""

    def __init__(self, capture: pytest.CaptureFixture[str]) -> None:
        self._capture = capture
        self.said = ""

    def __call__(self, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
        self._capture.readouterr()
        returned = run([*arguments, "-o", "ndjson"])
        printed, self.said = self._capture.readouterr()
        assert returned == code, (printed, self.said)
        assert "Traceback" not in self.said
        return [json.loads(line) for line in printed.splitlines()]


@pytest.fixture
def cluster(settings: Settings, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_REDIS__URL", settings.redis.url)
    monkeypatch.setenv("TAMIS_PREFIX", unique[-12:])
    with Cluster(settings, unique[-12:], tmp_path, shards=2, event_partitions=2) as cluster:
        yield cluster


@pytest.fixture
def tamis(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Command:
    assert cluster.layout.shards == 2
    return Command(capsys)


@contextmanager
def running(cluster: Cluster, shard: int, listen: str = "") -> Iterator[None]:
    settings = cluster.settings.model_copy(update={"metrics": MetricsSettings(listen=listen)})
    stop = threading.Event()
    thread = threading.Thread(target=serve, args=(settings, shard, f"slot-{shard}", stop.is_set))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def told(rows: list[dict[str, Any]], *keys: str) -> dict[Any, Any]:
    """The last key's value, by the others'."""
    return {tuple(row[key] for key in keys[:-1]): row[keys[-1]] for row in rows}


def events(cluster: Cluster, partition: int, *values: bytes) -> None:
    for value in values:
        cluster.send(cluster.names.events, value, None, partition)
    cluster.flush()


def event(number: int) -> bytes:
    return Event(f"e{number}", 0, {"a": number}).encode()


class TestLag:
    def test_it_is_what_is_left_of_each_shard_in_each_partition(self, cluster: Cluster, tamis: Command) -> None:
        events(cluster, 1, *map(event, range(3)))
        rows = tamis("lag", "--max", "3")
        assert told(rows, "shard", "partition", "lag") == {(0, 0): 0, (0, 1): 3, (1, 0): 0, (1, 1): 3}
        assert {(row["committed"], row["owner"]) for row in rows} == {(None, None)}
        assert "6 in 4 partitions; 4 have no owner" in tamis.said
        tamis("lag", "--max", "2", code=1)
        with running(cluster, 1):
            assert soon(lambda: self.of(cluster, 1).lag == 0 and self.of(cluster, 1).owner is not None, SECONDS)
            rows = tamis("lag")
            assert told(rows, "shard", "partition", "lag") == {(0, 0): 0, (0, 1): 3, (1, 0): 0, (1, 1): 0}
            assert told(rows, "shard", "partition", "committed")[1, 1] == 3
            assert {row["shard"] for row in rows if row["owner"]} == {1}
            assert all(row["member"] and row["client"] for row in rows if row["owner"])

    def test_markers_are_not_events_and_what_is_not_committed_yet_waits(
        self, cluster: Cluster, tamis: Command, unique: str
    ) -> None:
        # On a busy machine Kafka would end it before this test does.
        somebody = producer(cluster.settings.kafka, f"{unique}-somebody", {"transaction.timeout.ms": 300_000})
        somebody.init_transactions(SECONDS)
        somebody.begin_transaction()
        somebody.produce(cluster.names.events, event(1), None, 0)
        somebody.commit_transaction(SECONDS)
        with running(cluster, 0):
            assert soon(lambda: self.of(cluster, 0, 0).committed == 1, SECONDS)
            assert soon(lambda: (self.of(cluster, 0, 0).end, self.of(cluster, 0, 0).lag) == (2, 0), SECONDS)
            somebody.begin_transaction()
            somebody.produce(cluster.names.events, event(2), None, 0)
            somebody.flush(SECONDS)
            waiting = self.of(cluster, 0, 0)
            assert (waiting.end, waiting.lag, waiting.hidden) == (3, 2, 1)
            tamis("lag", "--max", "0", code=1)
            somebody.abort_transaction(SECONDS)
            assert soon(lambda: (self.of(cluster, 0, 0).lag, self.of(cluster, 0, 0).hidden) == (0, 0), SECONDS)

    def test_what_all_shards_have_matched_is_told_while_more_is_being_decided(
        self, cluster: Cluster, unique: str
    ) -> None:
        place = cluster.names.events, 1
        id = cluster.layout.topics[place[0]]  # noqa: A001 - a word of this domain
        assert matched_up_to(cluster.settings)[id, 1] == 0
        groups = [cluster.names.group(cluster.layout.number, shard) for shard in range(2)]
        members = [consumer(cluster.settings.kafka, group) for group in groups]
        for member, offset in zip(members, (2, 9), strict=True):
            member.commit(offsets=[TopicPartition(*place, offset)], asynchronous=False)
        assert matched_up_to(cluster.settings)[id, 1] == 2
        deciding = producer(cluster.settings.kafka, f"{unique}-deciding", {"transaction.timeout.ms": 300_000})
        deciding.init_transactions(SECONDS)
        deciding.begin_transaction()
        metadata = members[0].consumer_group_metadata()
        deciding.send_offsets_to_transaction([TopicPartition(*place, 5)], metadata, SECONDS)
        assert matched_up_to(cluster.settings, seconds=2.0)[id, 1] == 2
        deciding.commit_transaction(SECONDS)
        assert soon(lambda: matched_up_to(cluster.settings)[id, 1] == 5, SECONDS)
        for member in members:
            member.close()

    def test_without_a_layout_it_says_what_to_do(self, tamis: Command, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("TAMIS_PREFIX", "nothing-here")
        assert tamis("lag", code=4) == []
        assert "tamis topics create" in tamis.said

    def of(self, cluster: Cluster, shard: int, partition: int = 1) -> PartitionLag:
        (found,) = (each for each in lags(cluster.settings) if (each.shard, each.partition) == (shard, partition))
        return found


class TestStats:
    def test_what_there_is_is_counted(self, cluster: Cluster, tamis: Command) -> None:
        cluster.subscribe(
            Subscription("ann", "one", "a = 1"),
            Subscription("ann", "two", "a = 2", paused="for now"),
            Subscription("bob", "one", "a = "),
        )
        events(cluster, 0, event(1), b"rubbish")
        with running(cluster, 0), running(cluster, 1):
            assert soon(lambda: told(tamis("stats"), "about", "what", "count")["rejected", "all"] == 2, SECONDS)
        found = told(tamis("stats", "--top", "1"), "about", "what", "count")
        assert (found["subscriptions", "active"], found["subscriptions", "paused"]) == (1, 1)
        assert (found["subscriptions", "invalid"], found["subscribers", "all"]) == (1, 2)
        assert {what: count for (about, what), count in found.items() if about == "subscriber"} == {"ann": 2}
        assert (found["rejected", "unknown_framing"], found["rejected", "bad_expression"]) == (1, 1)
        assert found["undelivered", "all"] == 0
        assert found["topic", cluster.names.events] == 2
        assert found["views", cluster.names.events] >= 2

    def test_numbers_of_brokers_that_run_are_added_up(self, cluster: Cluster, tamis: Command) -> None:
        cluster.subscribe(*(Subscription(f"s{number}", "one", "exists a") for number in range(8)))
        events(cluster, 0, event(1))
        ports = Ports()
        addresses = [f"127.0.0.1:{ports.claim()}" for _ in range(2)]
        urls = [word for address in addresses for word in ("--url", address)]

        def found() -> dict[str, float]:
            return {what: count for (_, what), count in told(tamis("stats", *urls), "about", "what", "count").items()}

        with running(cluster, 0, addresses[0]), running(cluster, 1, addresses[1]):
            assert soon(lambda: found().get("tamis_notifications_sent_total") == 8, SECONDS)
            numbers = found()
            assert numbers['tamis_subscriptions{shard="0"}'] + numbers['tamis_subscriptions{shard="1"}'] == 8
            assert not any("reason=" in name for name in numbers)
        ports.release()
        assert tamis("stats", *urls, code=3) == []
        assert "does not answer" in tamis.said
        tamis("stats", "--url", "ftp://somewhere", code=6)


class TestDoctor:
    def test_a_whole_one_has_nothing_wrong_but_that_nobody_works(self, cluster: Cluster, tamis: Command) -> None:
        rows = tamis("doctor")
        assert {row["area"] for row in rows} == {
            *("configuration", "client", "kafka", "topics", "rights", "groups", "redis", "clocks"),
            *("schema registry", "machine", "snapshots"),
        }
        about_snapshots = {row["about"]: row["status"] for row in rows if row["area"] == "snapshots"}
        assert about_snapshots == {"shard 0": "WARN", "shard 1": "WARN"}, "nobody has kept one"
        told_by_group = {row["about"]: (row["status"], row["fix"]) for row in rows if row["area"] == "groups"}
        group = cluster.names.group(cluster.layout.number, 1)
        status, fix = told_by_group[group]
        assert status == "WARN"
        assert "tamis broker --shard 1" in fix
        assert all(row["fix"] for row in rows if row["status"] != "OK")
        about_kafka = {row["about"]: row["found"] for row in rows if row["area"] == "kafka"}
        assert "group.consumer.session.timeout.ms" in about_kafka
        assert about_kafka["transactions"].startswith("they begin")
        assert any("advertised as" in found for found in about_kafka.values())
        with running(cluster, 1):
            assert soon(lambda: self.status(tamis, group) == "OK", SECONDS)
        made(cluster.settings, 0, None, lambda *_: None)
        assert self.status(tamis, "shard 0") == "OK"

    def status(self, tamis: Command, about: str) -> str:
        return next(str(row["status"]) for row in tamis("doctor") if row["about"] == about)

    def test_each_value_has_its_origin_and_secrets_are_not_told(
        self, tamis: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TAMIS_KAFKA__EXTRA__SSL_KEY_PASSWORD", "hush-hush")
        rows = tamis("doctor", "-X", "client.id=me")
        found = {row["about"]: row["found"] for row in rows if row["area"] == "configuration"}
        assert found['kafka.extra."client.id"'] == "me (flag -X)"
        assert found['kafka.extra."ssl.key.password"'].startswith("*** (environment")
        assert "hush-hush" not in json.dumps(rows) + tamis.said

    def test_what_cannot_be_reached_is_told_and_the_rest_is_looked_at(
        self, tamis: Command, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", "127.0.0.1:1")
        monkeypatch.setenv("TAMIS_REDIS__URL", "redis://:hush-hush@127.0.0.1:1/0")
        monkeypatch.setenv("TAMIS_SCHEMA_REGISTRY__URL", "http://127.0.0.1:1")
        rows = tamis("doctor", "--problems", "--timeout", "1", code=1)
        statuses = {row["area"]: row["status"] for row in rows}
        assert (statuses["kafka"], statuses["redis"], statuses["schema registry"]) == ("FAIL", "WARN", "FAIL")
        assert all(row["fix"] for row in rows)
        assert "hush-hush" not in json.dumps(rows)

    @pytest.mark.parametrize(
        ("variable", "value"),
        [("TAMIS_REDIS__URL", "localhost:6379"), ("TAMIS_REDIS__EXTRA__SOKCET_TIMEOUT", "5")],
    )
    def test_a_redis_that_cannot_be_meant_is_told_and_the_rest_is_looked_at(
        self, tamis: Command, monkeypatch: pytest.MonkeyPatch, variable: str, value: str
    ) -> None:
        monkeypatch.setenv(variable, value)
        rows = tamis("doctor", code=1)
        (row,) = (row for row in rows if row["status"] == "FAIL")
        assert row["area"] == "redis"
        assert "tamis config show --origin" in row["fix"]
        assert {"kafka", "topics", "rights", "groups", "machine"} <= {row["area"] for row in rows}

    def test_a_topic_that_breaks_a_promise_fails(self, cluster: Cluster, tamis: Command) -> None:
        cluster.delete_topic(cluster.names.views)
        rows = tamis("doctor", "--problems", code=1)
        (row,) = (row for row in rows if row["status"] == "FAIL")
        assert (row["area"], row["about"]) == ("topics", f"{cluster.names.views} topic")
        assert "tamis topics create" in row["fix"]

    def test_a_record_from_the_future_is_a_clock_that_is_wrong(self, cluster: Cluster, tamis: Command) -> None:
        client = producer(cluster.settings.kafka)
        # Kafka itself refuses what is more than an hour ahead.
        client.produce(cluster.names.events, event(1), timestamp=round(time.time() * 1000) + 1_800_000)
        assert client.flush(SECONDS) == 0
        (row,) = (row for row in tamis("doctor", "--problems") if row["area"] == "clocks")
        assert (row["about"], row["status"]) == (cluster.names.events, "WARN")
        assert "ahead of this clock" in row["found"]

    def test_a_redis_that_may_drop_snapshots_is_warned_about(self, cluster: Cluster, tamis: Command) -> None:
        client = connect(cluster.settings.redis)
        before = str(client.config_get("maxmemory-policy")["maxmemory-policy"])
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            rows = tamis("doctor", "--problems")
        finally:
            client.config_set("maxmemory-policy", before)
            client.close()
        (row,) = (row for row in rows if row["area"] == "redis")
        assert (row["about"], row["found"], row["wanted"]) == ("maxmemory-policy", "allkeys-lru", "noeviction")

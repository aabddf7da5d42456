"""`tamis snapshot`, on a real Kafka and a real Redis."""

import json
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from broker_cluster import Cluster
from serving import SECONDS, delivered, publish, running
from tamis.admin.cli import run
from tamis.broker.configuration import RedisSettings
from tamis.broker.errors import ConfigurationError
from tamis.broker.partitions import partition_of
from tamis.broker.redis import connect
from tamis.broker.snapshot_loading import store_of
from tamis.codecs.subscription import Subscription

Tamis = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def cluster(make_brokered: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Cluster:
    cluster = make_brokered()
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("TAMIS_KAFKA__BOOTSTRAP_SERVERS", cluster.settings.kafka.bootstrap_servers)
    monkeypatch.setenv("TAMIS_REDIS__URL", cluster.settings.redis.url)
    monkeypatch.setenv("TAMIS_PREFIX", cluster.settings.prefix)
    cluster.make_notification_topics(["ann", "bob"])
    cluster.subscribe(Subscription("ann", "x", "a = 1"), Subscription("bob", "y", "a = 2"))
    return cluster


@pytest.fixture
def tamis(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> Tamis:
    assert cluster.layout.shards == 1

    def call(*arguments: str, code: int = 0, says: str = "") -> list[dict[str, Any]]:
        capsys.readouterr()
        returned = run(["snapshot", *arguments, "-o", "ndjson"])
        printed, said = capsys.readouterr()
        assert returned == code, (printed, said)
        assert says in said
        assert "Traceback" not in said
        return [json.loads(line) for line in printed.splitlines()]

    return call


def test_what_is_saved_is_listed_shown_and_proved(cluster: Cluster, tamis: Tamis) -> None:
    assert tamis("list") == []
    assert tamis("verify", code=1, says="There is no snapshot") == []
    (saved,) = tamis("save")
    assert saved["subscriptions"] == 2
    (row,) = tamis("list")
    assert (row["generation"], row["newest"], row["state"]) == (saved["generation"], True, "usable")
    assert tamis("show", saved["generation"])[0]["view"] == saved["view"]
    tamis("show", "never-made", code=4, says="tamis snapshot list")
    cluster.unsubscribe("bob", "y")
    (again,) = tamis("save", "--shard", "0")
    assert again["subscriptions"] == 1
    assert [row["newest"] for row in tamis("list")] == [True, False]
    assert [row["state"] for row in tamis("verify")] == ["usable", "usable"]
    with (
        closing(store_of(cluster.settings, cluster.layout, 0)) as store,
        closing(connect(cluster.settings.redis)) as redis,
    ):
        redis.setrange(f"{store.key}:{saved['generation']}:0", 500, b"harm")
    rows = tamis("verify", code=1)
    assert {row["generation"]: row["state"] for row in rows} == {
        again["generation"]: "usable",
        saved["generation"]: "unusable",
    }
    tamis("save", "--shard", "7", code=4, says="no shard 7")


def test_a_file_goes_into_redis_unless_it_is_older(cluster: Cluster, tamis: Tamis, tmp_path: Path) -> None:
    file = tmp_path / "kept.tamis"
    (saved,) = tamis("save", "--to", str(file))
    assert (saved["file"], saved["bytes"]) == (str(file), file.stat().st_size)
    assert tamis("list") == []
    (loaded,) = tamis("load", str(file))
    assert tamis("verify", loaded["generation"])[0]["state"] == "usable"
    with running(cluster):
        publish(cluster, {"a": 1})
        delivered(cluster, "ann", count=1)
    cluster.unsubscribe("ann", "x")
    tamis("save")
    tamis("load", str(file), code=5, says="is newer")
    tamis("load", str(tmp_path / "missing"), code=4, says="no file")
    (tmp_path / "rubbish").write_bytes(b"rubbish")
    tamis("load", str(tmp_path / "rubbish"), code=6, says="cannot be loaded")
    tamis("save", "--to", str(tmp_path / "no" / "folder"), code=6, says="cannot be written")


def test_invalid_subscriptions_that_nobody_was_told_of_keep_it_out_of_redis(
    cluster: Cluster, tamis: Tamis, tmp_path: Path
) -> None:
    home = partition_of("ann", cluster.layout.partitions)
    cluster.send(cluster.names.subscriptions, b"rubbish", b"ann/wrong", home)
    cluster.flush()
    tamis("save", code=5, says="not told of yet")
    tamis("save", "--to", str(tmp_path / "file"))
    tamis("load", str(tmp_path / "file"), code=5, says="were told")
    with running(cluster):
        publish(cluster, {"a": 1})
        delivered(cluster, "ann", count=1)
    tamis("save")
    tamis("save", "--to", str(tmp_path / "file"))
    tamis("load", str(tmp_path / "file"))


def test_a_redis_that_is_not_there_is_told_with_its_exit_code(
    cluster: Cluster, tamis: Tamis, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cluster.layout.shards == 1
    monkeypatch.setenv("TAMIS_REDIS__URL", "redis://127.0.0.1:1/0")
    tamis("list", code=3)
    tamis("save", code=3)


@pytest.mark.parametrize(
    ("redis", "says"),
    [
        ({"url": "localhost:6379"}, "redis.url"),
        ({"url": "redis://localhost:6379", "extra": {"sokcet_timeout": "5"}}, "there is no sokcet_timeout"),
    ],
)
def test_a_redis_that_cannot_be_meant_is_an_error_of_the_configuration(
    cluster: Cluster, tamis: Tamis, monkeypatch: pytest.MonkeyPatch, redis: dict[str, Any], says: str
) -> None:
    """And a broker stops at its start, with its name."""
    monkeypatch.setenv("TAMIS_REDIS", json.dumps(redis))
    monkeypatch.delenv("TAMIS_REDIS__URL")
    tamis("list", code=2, says=says)
    tamis("save", code=2, says=says)
    cluster.settings = cluster.settings.model_copy(update={"redis": RedisSettings(**redis)})
    with running(cluster, ends_by=ConfigurationError) as ended:
        assert ended.wait(SECONDS)

"""Brokers that start from snapshots, and whatever Redis does meanwhile: it never changes what is delivered."""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from broker_cluster import Cluster
from certificates import Authority
from processes import soon
from rights import redis_rights
from serving import delivered, publish, running
from tamis.admin.local.ports import Ports
from tamis.admin.local.redis import start_redis
from tamis.admin.local.servers import Servers
from tamis.broker import snapshot_loading
from tamis.broker.configuration import RedisSettings, Settings, SnapshotSettings
from tamis.broker.doctor_machine import redis_symptoms
from tamis.broker.errors import InvalidError
from tamis.broker.kafka import admin_client
from tamis.broker.partitions import partition_of
from tamis.broker.redis import Redis, RedisError, connect
from tamis.broker.snapshot_loading import extent_of, faults, newest_kept, newest_state, store_of, untimely
from tamis.broker.snapshot_store import CHUNK_BYTES, Generation, SnapshotStore
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import Position, View
from tamis.indexes import IndexBroken

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
Make = Callable[..., Cluster]


@pytest.fixture
def client(settings: Settings) -> Iterator[Redis]:
    with closing(connect(settings.redis)) as client:
        yield client


def store(cluster: Cluster) -> SnapshotStore:
    return store_of(cluster.settings, cluster.layout, 0)


def newest(cluster: Cluster) -> Generation:
    with closing(store(cluster)) as found:
        return found.generation(found.names()[0])


def subscribe(cluster: Cluster, *names: str) -> None:
    cluster.make_notification_topics(names)
    cluster.subscribe(*(Subscription(name, "x", "a = 1", {"team": name}) for name in names))


def served_once(cluster: Cluster, *subscribers: str) -> None:
    """A broker that starts, does its work, and ends: it leaves a snapshot."""
    with running(cluster):
        publish(cluster, {"a": 1})
        delivered(cluster, *subscribers, count=len(subscribers))


def test_who_starts_from_a_snapshot_knows_what_came_and_went_since(
    make_brokered: Make, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = make_brokered()
    subscribe(cluster, "ann", "bob")
    served_once(cluster, "ann", "bob")
    made = newest(cluster)
    assert made.subscriptions == 2
    cluster.unsubscribe("ann", "x")
    subscribe(cluster, "carol")
    caplog.set_level(logging.INFO)
    with running(cluster):
        publish(cluster, {"a": 1})
        seen = delivered(cluster, "ann", "bob", "carol", count=4)
    assert sorted(each.subscriber for each in seen) == ["ann", "bob", "bob", "carol"]
    assert f"subscriptions from snapshot {made.name} and" in caplog.text
    assert newest(cluster).view.reaches(made.view)
    assert newest(cluster).subscriptions == 2


def test_a_snapshot_is_kept_while_a_broker_works(make_brokered: Make) -> None:
    cluster = make_brokered(snapshots=SnapshotSettings(after_changes=1))
    subscribe(cluster, "ann")
    with running(cluster), closing(store(cluster)) as found:
        assert soon(lambda: len(found.names()) > 0, SECONDS)
        assert newest(cluster).subscriptions == 1


def test_a_snapshot_that_redis_has_lost_is_made_again_though_nothing_changes(
    make_brokered: Make, client: Redis
) -> None:
    cluster = make_brokered(snapshots=SnapshotSettings(after_changes=1, every_seconds=1))
    subscribe(cluster, "ann")
    with running(cluster), closing(store(cluster)) as found:
        assert soon(lambda: len(found.names()) > 0, SECONDS)
        client.delete(found.key)
        assert soon(lambda: len(found.names()) > 0, SECONDS)
        assert newest(cluster).subscriptions == 1


def test_another_snapshot_is_wanted_when_half_of_the_time_of_one_is_over_or_a_part_of_it_gone(
    make_brokered: Make, client: Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_brokered()
    assert newest_kept(cluster.settings, cluster.layout, 0) == (None, True)
    subscribe(cluster, "ann")
    served_once(cluster, "ann")
    made = newest(cluster)
    assert newest_kept(cluster.settings, cluster.layout, 0) == (made, False)
    with monkeypatch.context() as patch:
        patch.setattr(snapshot_loading, "lifetime", lambda *_: 0.0)
        assert newest_kept(cluster.settings, cluster.layout, 0) == (made, True)
    with closing(store(cluster)) as found:
        client.delete(f"{found.key}:{made.name}:0")
    assert newest_kept(cluster.settings, cluster.layout, 0) == (None, True)


def test_a_snapshot_that_one_process_has_no_memory_for_stays_for_others(
    make_brokered: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = make_brokered()
    subscribe(cluster, "ann")
    served_once(cluster, "ann")

    def too_large(*_: object) -> None:
        raise MemoryError

    admin = admin_client(cluster.settings.kafka)
    with monkeypatch.context() as patched:
        patched.setattr(snapshot_loading, "SubscriptionState", too_large)
        assert newest_state(cluster.settings, admin, cluster.layout, 0) is None
    assert newest_state(cluster.settings, admin, cluster.layout, 0) is not None


def test_a_process_that_has_run_out_of_memory_ends_with_what_it_has_to_say(
    make_brokered: Make, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """And not with a snapshot that it cannot make of what is left."""
    cluster = make_brokered()
    subscribe(cluster, "ann")

    def broken(*_: object) -> None:
        raise IndexBroken("memory ran out")

    def full(*_: object) -> None:
        raise MemoryError

    with running(cluster, ends_by=InvalidError) as ended:
        publish(cluster, {"a": 1})
        delivered(cluster, "ann", count=1)
        monkeypatch.setattr(SubscriptionState, "freeze", broken)
        cluster.subscribe(Subscription("ann", "y", "a = 1"))
        publish(cluster, {"a": 1})
        delivered(cluster, "ann", count=2)
        monkeypatch.setattr(SubscriptionState, "apply", full)
        cluster.subscribe(Subscription("ann", "z", "a = 1"))
        publish(cluster, {"a": 1})
        assert ended.wait(SECONDS)
    assert "no snapshot can be kept" in caplog.text


def test_a_redis_that_is_killed_in_the_midst_and_comes_back_empty_is_used_again(
    make_brokered: Make, ports: Ports, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    port = ports.claim()
    cluster = make_brokered(
        redis=RedisSettings(url=f"redis://127.0.0.1:{port}/0"),
        snapshots=SnapshotSettings(after_changes=1, every_seconds=1),
    )
    file = tmp_path / "file"
    file.write_bytes(bytes(3 * CHUNK_BYTES))
    subscribe(cluster, "ann")
    with closing(store(cluster)) as found, redis_at(port, found) as servers, running(cluster):
        assert soon(lambda: len(found.names()) > 0, SECONDS)
        about = newest(cluster)
        with pytest.raises(RedisError):
            found.put(file, about, 60.0, lambda _: servers.end())
        subscribe(cluster, "bob")
        publish(cluster, {"a": 1})
        assert len(delivered(cluster, "ann", "bob", count=2)) == 2
        assert soon(lambda: "no snapshot can be kept" in caplog.text, SECONDS)
        with redis_at(port, found):
            assert found.names() == []
            assert soon(lambda: "snapshots can be kept again" in caplog.text, SECONDS)
            assert newest(cluster).subscriptions == 2


@contextmanager
def redis_at(port: int, store: SnapshotStore) -> Iterator[Servers]:
    """Empty, and there when the block begins."""

    def is_there() -> bool:
        try:
            return store.now() > 0
        except RedisError:
            return False

    servers = Servers()
    try:
        start_redis(servers, port)
        assert soon(is_there, SECONDS)
        yield servers
    finally:
        servers.end()


@pytest.mark.parametrize("harmed", [1, 2])
def test_damaged_generations_are_passed_over_and_named_once(
    make_brokered: Make, client: Redis, caplog: pytest.LogCaptureFixture, harmed: int
) -> None:
    cluster = make_brokered()
    for name in ("ann", "bob"):
        subscribe(cluster, name)
        served_once(cluster, name)
    with closing(store(cluster)) as found:
        names = found.names()
        assert len(names) == 2
        for name in names[:harmed]:
            client.setrange(f"{found.key}:{name}:0", 1000, b"harm")
    caplog.set_level(logging.INFO)
    with running(cluster):
        publish(cluster, {"a": 1})
        delivered(cluster, "bob", count=2)
    assert caplog.text.count("is of no use: chunk 0 of 1 is damaged") == harmed
    assert ("subscriptions from snapshot" in caplog.text) == (harmed == 1)
    with closing(store(cluster)) as found:
        assert not set(names[:harmed]) & set(found.names())


@contextmanager
def silent_server() -> Iterator[str]:
    """It accepts, and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        accepted: list[socket.socket] = []

        def accept() -> None:
            while True:
                try:
                    accepted.append(server.accept()[0])
                except OSError:
                    return

        threading.Thread(target=accept, daemon=True).start()
        yield f"redis://127.0.0.1:{server.getsockname()[1]}/0"
        server.shutdown(socket.SHUT_RDWR)
        for each in accepted:
            each.close()


def test_a_redis_that_is_gone_or_silent_delays_a_start_and_nothing_else(
    make_brokered: Make, caplog: pytest.LogCaptureFixture
) -> None:
    with silent_server() as url:
        for address in ("redis://127.0.0.1:1/0", url):
            caplog.clear()
            cluster = make_brokered(
                redis=RedisSettings(url=address), snapshots=SnapshotSettings(after_changes=1, every_seconds=1)
            )
            subscribe(cluster, "ann")
            began = time.monotonic()
            with running(cluster):
                publish(cluster, *[{"a": 1}] * 20)
                delivered(cluster, "ann", count=20)
                assert soon(lambda: "no snapshot can be kept" in caplog.text, SECONDS)
            assert time.monotonic() - began < SECONDS
            assert caplog.text.count("no snapshot can be had") == 1
            assert caplog.text.count("no snapshot can be kept") == 1
            cluster.remove()


def test_a_redis_that_is_full_keeps_what_it_had(make_brokered: Make, client: Redis) -> None:
    cluster = make_brokered()
    subscribe(cluster, "ann")
    served_once(cluster, "ann")
    before = newest(cluster)
    limit = str(client.config_get("maxmemory")["maxmemory"])
    client.config_set("maxmemory", 1)
    try:
        subscribe(cluster, "bob")
        served_once(cluster, "bob")
        assert newest(cluster) == before
    finally:
        client.config_set("maxmemory", limit)
    served_once(cluster, "bob")
    assert newest(cluster).subscriptions == 2


def test_a_redis_that_drops_keys_loses_snapshots_and_nothing_else(
    make_brokered: Make, client: Redis, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    cluster = make_brokered()
    subscribe(cluster, "ann")
    served_once(cluster, "ann")
    with closing(store(cluster)) as found:
        chunk = f"{found.key}:{found.names()[0]}:0"
    before = {name: str(client.config_get(name)[name]) for name in ("maxmemory", "maxmemory-policy")}
    fillers = [f"filler-{unique}-{number}" for number in range(10_000)]
    try:
        client.config_set("maxmemory-policy", "allkeys-random")
        client.config_set("maxmemory", int(client.info("memory")["used_memory"]) + (1 << 20))
        for filler in fillers:
            client.set(filler, bytes(1 << 16))
            if not client.exists(chunk):
                break
        assert not client.exists(chunk)
        caplog.set_level(logging.INFO)
        subscribe(cluster, "bob")
        with running(cluster):
            publish(cluster, {"a": 1})
            seen = delivered(cluster, "ann", "bob", count=3)
        assert sorted(each.subscriber for each in seen) == ["ann", "ann", "bob"]
        assert "subscriptions from snapshot" not in caplog.text
        assert "allkeys-random" in caplog.text
    finally:
        client.delete(*fillers)
        for name, value in before.items():
            client.config_set(name, value)
    served_once(cluster, "ann", "bob")
    assert newest(cluster).subscriptions == 2


def test_a_user_of_redis_with_just_the_rights_that_are_told_keeps_and_loads_snapshots(
    make_brokered: Make, client: Redis, settings: Settings, unique: str, caplog: pytest.LogCaptureFixture
) -> None:
    user = f"user-{unique}"
    acl, setuser, _, *rights = redis_rights("broker", "secret", unique[-12:])
    client.execute_command(acl, setuser, user, *rights)  # type: ignore[no-untyped-call]
    try:
        url = settings.redis.url.replace("redis://", f"redis://{user}:secret@")
        cluster = make_brokered(redis=RedisSettings(url=url))
        caplog.set_level(logging.INFO)
        for name in ("ann", "bob", "carol"):  # the third one removes the first one's
            subscribe(cluster, name)
            served_once(cluster, name)
        assert caplog.text.count("subscriptions from snapshot") == 2
        with closing(store(cluster)) as found:
            for name in found.names():
                found.discard(name)
            assert found.names() == []
            assert found.dropping_policy() == ""
        assert list(client.scan_iter(f"{unique[-12:]}*")) == []
        assert "NOPERM" not in caplog.text
        assert "secret" not in caplog.text
    finally:
        client.acl_deluser(user)


def test_redis_is_reached_by_tls_and_by_nobody_who_is_not_vouched_for(
    make_brokered: Make, settings: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    parts = urlsplit(settings.redis.url)
    authority = Authority(tmp_path)
    with authority.in_front_of(parts.hostname or "", parts.port or 0) as port:
        redis = RedisSettings(
            url=f"rediss://127.0.0.1:{port}{parts.path}", extra={"ssl_ca_certs": str(authority.trusted)}
        )
        cluster = make_brokered(redis=redis)
        caplog.set_level(logging.INFO)
        subscribe(cluster, "ann")
        served_once(cluster, "ann")
        served_once(cluster, "ann")
        assert caplog.text.count("subscriptions from snapshot") == 1
        stranger = cluster.settings.model_copy(update={"redis": RedisSettings(url=redis.url)})
        (symptom,) = redis_symptoms(stranger)
        assert "certificate verify failed" in symptom.found


def test_what_a_snapshot_must_fit_is_told_by_name(make_brokered: Make) -> None:
    cluster = make_brokered()
    subscribe(cluster, "ann")
    layout = cluster.layout
    extent = extent_of(cluster.settings, admin_client(cluster.settings.kafka), layout, 0)
    ends = [Position(partition, end) for partition, end in sorted(extent.ends.items())]
    assert extent.lifetime == pytest.approx(0.9 * 7 * 24 * 3600)

    whole = View(layout.number, ends)

    def reasons(created: float = 0.0, rules: str = layout.rules, view: View = whole, made: float | None = None) -> str:
        generation = Generation("g", created, view, 1, rules, 1, made=made)
        return " | ".join([*faults(generation, extent, 0.0), *untimely(generation, extent)])

    assert reasons() == ""
    assert reasons(created=-extent.lifetime - 1).startswith("it is 151.2 hours old")
    assert reasons(created=-extent.lifetime + 1) == ""
    assert reasons(made=time.time() - extent.lifetime - 60).startswith("it is 151.2 hours old"), "Redis was put back"
    assert reasons(made=time.time() - extent.lifetime + 60) == reasons(made=time.time() + 600) == ""
    assert reasons(created=-extent.lifetime - 1, made=time.time()).startswith("it is 151.2"), "the machine was put back"
    assert reasons(created=600).startswith("it is from 10 minutes ahead")
    assert reasons(rules="others").startswith("it was made by the rules others")
    assert reasons(view=View(9, ends)) == "it is of layout 9, not 1"
    assert reasons(view=View(1, ends[:-1])) == "it is of other partitions"
    beyond = [Position(at.partition, at.offset + (at.partition == 1)) for at in ends]
    assert "of partition 1, which has 0 to" in reasons(view=View(1, beyond))


def test_no_snapshot_goes_beyond_what_nobody_was_told_of(make_brokered: Make) -> None:
    """Else who starts from it would never tell of the invalid subscription before it."""
    cluster = make_brokered(snapshots=SnapshotSettings(after_changes=1))
    subscribe(cluster, "ann")
    cluster.send(cluster.names.subscriptions, b"rubbish", b"ann/wrong", partition_of("ann", cluster.layout.partitions))
    cluster.flush()
    served_once(cluster, "ann")
    served_once(cluster, "ann")
    (rejected,) = cluster.content(cluster.names.rejected)
    assert rejected[2] == b"ann/wrong"

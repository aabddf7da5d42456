"""Everybody's connections to Kafka and to Redis, by way of Toxiproxy: late, slow, silent, and ended anywhere."""

import itertools
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from broker_cluster import Cluster
from broker_process import Manner
from chaos_points import Faults
from chaos_results import Result, Trial
from chaos_run import Run
from chaos_toxics import KAFKA, REDIS, TOXIC_KINDS
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack
from tamis.admin.local.ports import Ports
from tamis.admin.local.stack import StackOptions
from tamis.broker import snapshot_loading, snapshots
from tamis.broker.configuration import RedisSettings
from tamis.broker.kafka import admin_client
from tamis.broker.redis import RedisError
from tamis.broker.snapshot_loading import newest_state, store_of
from tamis.broker.snapshots import Shot, save
from tamis.broker.subscription_log import SubscriptionLog
from tamis.codecs.subscription import Subscription
from toxiproxy import BOTH, Toxiproxy

SUBSCRIPTIONS = 2_000
BUDGET_SECONDS = 3.0
LEEWAY_SECONDS = 20.0
"""What Kafka and a busy machine may add; without a bound it would take minutes."""
LOOK_SECONDS = 1.0
_NUMBERS = itertools.count()


@dataclass
class Network:
    stack: LocalStack
    toxiproxy: Toxiproxy


@pytest.fixture(scope="module")
def network() -> Iterator[Network]:
    ports = Ports()
    kafka_port, redis_port = ports.claim(), ports.claim()
    with Toxiproxy({KAFKA: kafka_port, REDIS: redis_port}) as toxiproxy:
        ports.release()
        listeners = {"advertised.listeners": f"CLIENT://127.0.0.1:{toxiproxy.ports[KAFKA]}"}
        properties = {**KILLED_KAFKAS, **listeners}
        with LocalStack(StackOptions(kafka_port=kafka_port, redis_port=redis_port, properties=properties)) as stack:
            redis = RedisSettings(url=f"redis://127.0.0.1:{toxiproxy.ports[REDIS]}/0")
            stack.settings = stack.settings.model_copy(update={"redis": redis})
            yield Network(stack, toxiproxy)


@pytest.fixture(autouse=True)
def _sound_at_last(network: Network) -> Iterator[None]:
    yield
    network.toxiproxy.heal()


@pytest.mark.timeout(500)
def test_brokers_in_a_toxic_network_deliver_everything_once(network: Network, tmp_path: Path) -> None:
    """Each thing that may go wrong in turn, while processes work and while one starts."""
    trial = Trial(rate=150.0, processes=2, shards=1)
    result = Result.of(trial)
    with Run(network.stack, trial, tmp_path, Manner(Faults(abort_every=20)), network.toxiproxy) as run:
        run.start(on_a_whole_log=True)
        counts = run.director.counts
        for kind in TOXIC_KINDS:
            run.director.disturb(["killed"])
            while not counts[kind]:  # until the one before is over
                run.go_on(LOOK_SECONDS)
                run.director.disturb([kind])
        findings = run.finish(result)
    print(result)
    assert findings.is_clean, findings
    assert not result.trouble, result
    assert not result.stops, result


@pytest.fixture
def cluster(network: Network, tmp_path: Path) -> Iterator[Cluster]:
    with Cluster(network.stack.settings, f"toxic-{next(_NUMBERS)}", tmp_path) as cluster:
        cluster.subscribe(*(Subscription(f"s-{number}", "x", f"price < {number}") for number in range(SUBSCRIPTIONS)))
        yield cluster


def poisoned(kind: str, *streams: str, **attributes: int) -> Callable[[Toxiproxy], None]:
    return lambda toxiproxy: toxiproxy.poison(REDIS, kind, *streams, **attributes)


@pytest.mark.parametrize(
    "harm",
    [
        poisoned("latency", *BOTH, latency=20_000, jitter=0),
        poisoned("bandwidth", "downstream", rate=1),
        poisoned("slicer", "downstream", average_size=1, size_variation=0, delay=100_000),
        poisoned("timeout", "upstream", timeout=0),
        poisoned("timeout", "downstream", timeout=0),
        poisoned("reset_peer", "downstream", timeout=0),
        poisoned("limit_data", "upstream", bytes=300),
        poisoned("limit_data", "downstream", bytes=20_000),
        lambda toxiproxy: toxiproxy.cut(REDIS),
    ],
    ids=["late", "slow", "a byte at a time", "deaf", "dumb", "reset", "torn request", "torn answer", "cut"],
)
def test_a_start_waits_for_redis_for_so_long_at_most_and_snapshots_survive(
    network: Network, cluster: Cluster, monkeypatch: pytest.MonkeyPatch, harm: Callable[[Toxiproxy], None]
) -> None:
    monkeypatch.setattr(snapshot_loading, "REDIS_SECONDS", BUDGET_SECONDS)
    monkeypatch.setattr(snapshots, "SAVING_SECONDS", BUDGET_SECONDS)
    settings, layout = cluster.settings, cluster.layout
    admin = admin_client(settings.kafka)
    with closing(SubscriptionLog(settings, layout, 0)) as log:
        log.catch_up()
        shot = Shot(layout, 0, log.state.freeze(), log.view, time.monotonic())
        made = save(settings, shot)
    harm(network.toxiproxy)
    began = time.monotonic()
    assert newest_state(settings, admin, layout, 0) is None
    assert time.monotonic() - began < BUDGET_SECONDS + LEEWAY_SECONDS
    with suppress(RedisError):
        save(settings, shot)
    network.toxiproxy.heal()
    with closing(store_of(settings, layout, 0)) as store:
        assert made.name in store.names()
    restored = newest_state(settings, admin, layout, 0)
    assert restored is not None
    assert len(restored.state) == SUBSCRIPTIONS

"""What a broker on a real Kafka tells of itself, and that what is deployed and documented is what it tells."""

import json
import re
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any, Self

import pytest
import yaml

from broker_cluster import Cluster
from metrics_text import Family, parsed
from processes import soon
from tamis.admin.local.ports import Ports
from tamis.broker import subscription_log
from tamis.broker.configuration import MetricsSettings, Settings
from tamis.broker.kafka import producer
from tamis.broker.metrics_text import text_of
from tamis.broker.partitions import partition_of
from tamis.broker.service import serve
from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription
from tamis.spark_sink.archive_metrics import ArchiveMeters, archive_families

ROOT = Path(__file__).parents[2]
SECONDS = 60.0
NAME = re.compile(r"\b(?:tamis|process)_[a-z_]+\b")
SUFFIX = re.compile(r"_(?:bucket|sum|count)$")


class Watched:
    """A broker in a thread of this process, and what it answers."""

    def __init__(self, cluster: Cluster, slot: str, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        metrics = MetricsSettings(listen=f"127.0.0.1:{port}")
        self._settings = cluster.settings.model_copy(update={"metrics": metrics})
        self._stop = threading.Event()
        self._thread = threading.Thread(target=serve, args=(self._settings, 0, slot, self._stop.is_set))

    def __enter__(self) -> Self:
        self._thread.start()
        assert soon(lambda: self.get("/livez")[0] == 200, SECONDS)
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self.url + path, timeout=SECONDS) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except urllib.error.URLError as error:
            return 0, str(error)

    def metrics(self) -> dict[str, Family]:
        return parsed(self.get("/metrics")[1])

    def is_ready(self) -> bool:
        return self.get("/readyz")[0] == 200

    def value(self, name: str, **labels: str) -> float:
        return self.metrics()[name].samples.get(("", tuple(sorted(labels.items()))), 0.0)

    def total(self, name: str) -> float:
        return sum(self.metrics()[name].samples.values())


@contextmanager
def made(settings: Settings, prefix: str, folder: Path, event_partitions: int) -> Iterator[Cluster]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TAMIS_STATE_DIR", str(folder))
        patch.setattr(subscription_log, "_WARNING_SECONDS", 0.2)
        with Cluster(settings, prefix[-12:], folder, event_partitions=event_partitions) as cluster:
            yield cluster


@pytest.fixture
def cluster(settings: Settings, unique: str, tmp_path: Path) -> Iterator[Cluster]:
    with made(settings, unique, tmp_path, 2) as cluster:
        yield cluster


@pytest.fixture(scope="module")
def exported(
    settings: Settings, ports: Ports, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Cluster, dict[str, Family]]]:
    """What a broker tells after it has matched, rejected and refused something."""
    with made(settings, "test-exported", tmp_path_factory.mktemp("exported"), 2) as cluster:
        cluster.subscribe(
            Subscription("ann", "cheap", "price < 10"),
            Subscription("ann", "any", "exists price"),
            Subscription("bob", "wrong", "price <"),
        )
        for partition, price in enumerate((5, 50)):
            cluster.send(cluster.names.events, Event(f"e{price}", 0, {"price": price}).encode(), None, partition)
        cluster.send(cluster.names.events, Event("e", 0, {"size": 1}).encode(), None, 0)
        cluster.send(cluster.names.events, b"rubbish", None, 0)
        cluster.flush()
        with Watched(cluster, "a", ports.claim()) as broker:
            assert soon(lambda: broker.total("tamis_events_consumed_total") == 4, SECONDS)
            found: list[dict[str, Family]] = []

            def is_complete() -> bool:
                found.append(broker.metrics())
                return len(found[-1]["tamis_consumer_lag_records"].samples) == 2

            assert soon(is_complete, SECONDS)
            yield cluster, found[-1]


def test_what_happened_is_counted(exported: tuple[Cluster, dict[str, Family]]) -> None:
    cluster, found = exported
    events = cluster.names.events
    assert found["tamis_events_consumed_total"].value(topic=events) == 4
    assert found["tamis_events_rejected_total"].value(reason="unknown_framing") == 1
    assert found["tamis_events_unmatched_total"].value() == 1
    assert found["tamis_matches_total"].value() == 3
    assert found["tamis_match_candidates_total"].value() >= 3
    assert found["tamis_notifications_sent_total"].value() == 2
    assert found["tamis_subscriptions"].value(shard="0") == 2
    assert found["tamis_subscription_records_total"].value() == 3
    assert found["tamis_subscriptions_invalid_total"].value(reason="bad_expression") == 1
    assert found["tamis_delivery_duration_seconds"].value("_count") == 4
    batches = found["tamis_transactions_committed_total"].value()
    assert found["tamis_batch_events"].value("_count") == batches
    assert found["tamis_batch_events"].value("_sum") == 4
    assert found["tamis_barrier_duration_seconds"].value("_count") == batches
    assert found["tamis_index_bytes"].value(structure="expressions") > 0
    assert found["tamis_consumer_lag_records"].value(topic=events, partition="0") == 0
    assert found["tamis_consumer_position"].value(topic=events, partition="0") == 3
    assert found["tamis_consumer_position"].value(topic=events, partition="1") == 1
    assert found["tamis_shards"].value() == 1
    assert found["tamis_partitions"].value(shard="0") == found["tamis_partitions_owned"].value(shard="0") == 2


@pytest.fixture(scope="module")
def everything(exported: tuple[Cluster, dict[str, Family]]) -> dict[str, Family]:
    """What an archiver tells, too."""
    return parsed(text_of(archive_families(ArchiveMeters()))) | exported[1]


def test_every_metric_is_documented_and_nothing_else_is(everything: dict[str, Family]) -> None:
    told = (ROOT / "docs" / "metrics.md").read_text()
    rows = [line.split("|")[1:3] for line in told.splitlines() if re.match(r"\| `(?:tamis|process)_", line)]
    documented = {name: kind.strip() for names, kind in rows for name in NAME.findall(re.sub(r"\{.*?\}", "", names))}
    assert documented == {name: family.kind for name, family in everything.items()}


def test_the_documented_labels_are_those_that_samples_have(exported: tuple[Cluster, dict[str, Family]]) -> None:
    told = (ROOT / "docs" / "metrics.md").read_text()
    labels = {name: set(of.split(",")) for name, of in re.findall(r"^\| `(\w+)\{(.*?)\}`", told, re.MULTILINE)}
    for name, family in exported[1].items():
        found = set(chain.from_iterable(dict(of) for _, of in family.samples)) - {"le"}
        assert found <= labels.get(name, set()), name


def expressions_of_alerts() -> list[str]:
    rules = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yml").read_text())
    return [rule["expr"] for group in rules["groups"] for rule in group["rules"]]


def expressions_of_the_dashboard() -> list[str]:
    dashboard: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "tamis.json").read_text())
    targets = [target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])]
    return targets + [variable["query"] for variable in dashboard["templating"]["list"]]


@pytest.mark.parametrize("expressions", [expressions_of_alerts, expressions_of_the_dashboard])
def test_what_is_deployed_names_metrics_that_there_are(everything: dict[str, Family], expressions: Any) -> None:
    named: set[str] = set()
    for expression in expressions():
        assert expression.count("(") == expression.count(")"), expression
        for name in NAME.findall(expression):
            bare = SUFFIX.sub("", name)
            family = everything.get(name) or everything.get(bare)
            assert family is not None, expression
            assert (family.kind == "histogram") == (name != bare), f"{name} in {expression}"
            named.add(bare)
    assert len(named) > 10


def test_it_is_ready_when_subscriptions_can_be_read_and_tells_what_stands_in_the_way(
    cluster: Cluster, ports: Ports, unique: str
) -> None:
    names = cluster.names
    cluster.subscribe(Subscription("ann", "any", "exists a"))
    # On a busy machine Kafka would end it before this test does.
    somebody = producer(cluster.settings.kafka, f"{unique}-somebody", {"transaction.timeout.ms": 300_000})
    somebody.init_transactions(SECONDS)
    subscription = Subscription("ann", "more", "a = 1")
    with Watched(cluster, "a", ports.claim()) as broker:
        assert soon(lambda: broker.is_ready() and broker.value("tamis_partitions_owned", shard="0") == 2, SECONDS)
        somebody.begin_transaction()
        somebody.produce(names.subscriptions, subscription.encode(), subscription.key, partition_of("ann", 4))
        somebody.flush(SECONDS)
        for number in range(3):
            cluster.send_event(f"e{number}", a=number)
        lag = {"topic": names.events, "partition": "0"}
        assert soon(lambda: broker.value("tamis_consumer_lag_records", **lag) == 3, SECONDS)
        assert soon(lambda: not broker.is_ready(), SECONDS)
        _, told = broker.get("/readyz?verbose")
        assert f"[-] subscriptions: {names.subscriptions} cannot be read to its end" in told
        assert re.search(rf"a transaction is open in {re.escape(names.subscriptions)} \[\d\]: 1 offsets wait", told)
        assert broker.get("/livez")[0] == 200
        somebody.commit_transaction(SECONDS)
        assert soon(broker.is_ready, SECONDS)
        assert soon(lambda: broker.value("tamis_consumer_lag_records", **lag) == 0, SECONDS)
        assert broker.value("tamis_ready") == 1
        assert broker.value("tamis_events_consumed_total", topic=names.events) == 3


def test_markers_of_transactions_are_no_lag_and_what_an_open_one_hides_is(
    cluster: Cluster, ports: Ports, unique: str
) -> None:
    topic = cluster.names.events
    somebody = producer(cluster.settings.kafka, f"{unique}-somebody", {"transaction.timeout.ms": 300_000})
    somebody.init_transactions(SECONDS)

    def begin() -> None:
        somebody.begin_transaction()
        somebody.produce(topic, Event("e", 0, {"a": 1}).encode(), partition=0)
        somebody.flush(SECONDS)

    with Watched(cluster, "a", ports.claim()) as broker:

        def stands_at(position: int, *, lag: int) -> bool:
            found = broker.metrics()
            told = (found["tamis_consumer_position"], found["tamis_consumer_lag_records"])
            key = "", (("partition", "0"), ("topic", topic))
            return [family.samples.get(key) for family in told] == [position, lag]

        begin()
        somebody.commit_transaction(SECONDS)
        assert soon(lambda: stands_at(1, lag=0), SECONDS)
        begin()
        assert soon(lambda: stands_at(1, lag=1), SECONDS)
        somebody.abort_transaction(SECONDS)
        assert soon(lambda: stands_at(1, lag=0), SECONDS)
        begin()
        somebody.commit_transaction(SECONDS)
        assert soon(lambda: stands_at(5, lag=0), SECONDS)


def test_one_that_is_left_without_partitions_stands_by_and_is_ready(
    settings: Settings, unique: str, tmp_path: Path, ports: Ports
) -> None:
    with made(settings, unique, tmp_path, 1) as cluster, Watched(cluster, "a", ports.claim()) as first:
        assert soon(first.is_ready, SECONDS)
        with Watched(cluster, "b", ports.claim()) as second:
            assert soon(second.is_ready, SECONDS)

            def told() -> str:
                return "".join(broker.get("/readyz?verbose")[1] for broker in (first, second))

            assert soon(lambda: "group: partitions: 1" in told() and "it stands by" in told(), SECONDS)
            assert soon(lambda: first.is_ready() and second.is_ready(), SECONDS)

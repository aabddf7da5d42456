import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from broker_cluster import Cluster as BrokeredCluster
from clusters import Cluster, made_cluster, remove_cluster
from commands import Command
from stacks import chosen_kind, running_stack
from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, NewTopic, admin_client
from tamis.broker.topic_facts import awaited_facts
from tamis.indexes.limits import Limits


@pytest.fixture(scope="session")
def settings(request: pytest.FixtureRequest) -> Iterator[Settings]:
    """One Kafka and one Redis for the whole session; if a test fails, the local stack's logs stay."""
    with running_stack(chosen_kind(), keep_logs=lambda: request.session.testsfailed > 0) as settings:
        yield settings


@pytest.fixture(scope="session")
def admin(settings: Settings) -> AdminClient:
    return admin_client(settings.kafka)


@pytest.fixture
def unique() -> str:
    """A name that no other test uses: for groups, transactional ids, keys."""
    return f"test-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def make_topic(admin: AdminClient) -> Iterator[Callable[..., str]]:
    """Makes a topic with a name of its own; it goes with the test."""
    made: list[str] = []

    def make(partitions: int = 1, **config: str) -> str:
        name = f"test-{uuid.uuid4().hex[:12]}"
        properties = {key.replace("_", "."): value for key, value in config.items()}
        admin.create_topics([NewTopic(name, partitions, config=properties)])[name].result()
        awaited_facts(admin, [name], 30.0)  # one that is so new may not be known to be there yet
        made.append(name)
        return name

    yield make
    if made:
        for future in admin.delete_topics(made).values():
            future.result()


@pytest.fixture
def make_cluster(settings: Settings, admin: AdminClient) -> Iterator[Callable[..., Cluster]]:
    """Makes a Tamis of its own, without a broker; its topics go with the test."""
    prefixes: list[str] = []

    def make(limits: Limits | None = None) -> Cluster:
        prefixes.append(f"test-{uuid.uuid4().hex[:12]}")
        return made_cluster(settings, admin, prefixes[-1], limits or Limits())

    yield make
    for prefix in prefixes:
        remove_cluster(admin, prefix)


@pytest.fixture
def make_brokered(
    settings: Settings, unique: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., BrokeredCluster]]:
    """Makes a Tamis of its own, for brokers; its topics go with the test."""
    made: list[BrokeredCluster] = []
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))

    def make(shards: int = 1, **sections: object) -> BrokeredCluster:
        cluster = BrokeredCluster(settings.model_copy(update=sections), unique[-12:], tmp_path, shards)
        made.append(cluster)
        return cluster

    yield make
    for cluster in made:
        cluster.remove()


@pytest.fixture
def tamis(
    make_cluster: Callable[..., Cluster], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Command:
    command = Command(make_cluster(), capsys)
    for name, value in command.environment.items():
        monkeypatch.setenv(name, value)
    return command

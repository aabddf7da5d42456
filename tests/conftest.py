import os
import uuid
from collections.abc import Callable, Iterator

import hypothesis
import pytest
from stacks import chosen_kind, running_stack

from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, NewTopic, admin_client

hypothesis.settings.register_profile("dev", max_examples=50, deadline=None)
hypothesis.settings.register_profile("ci", max_examples=200, deadline=None, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "dev")


@pytest.fixture(scope="session")
def settings() -> Iterator[Settings]:
    """One Kafka and one Redis for the whole session."""
    with running_stack(chosen_kind()) as settings:
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
        made.append(name)
        return name

    yield make
    if made:
        for future in admin.delete_topics(made).values():
            future.result()

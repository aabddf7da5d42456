"""What waits, for a user who may not do everything."""

from collections.abc import Iterator
from itertools import chain

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.kafka import AdminClient, NewTopic, admin_client, producer
from tamis.broker.positions import END
from tamis.broker.tailing import Extent, tail
from tamis.broker.topic_facts import awaited_facts
from tamis.broker.undelivered_retry import RetryReport, Wanted, rehearse, retry
from tamis.codecs.notification import Match, Notification
from tamis.codecs.undelivered import Obstacle, Undelivered

SECONDS = 15.0


@pytest.fixture(scope="module")
def secured() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(secured=True, redis=False)) as stack:
        yield stack


def allow(admin: AdminClient, kind: ResourceType, name: str, *operations: AclOperation) -> None:
    """Let the user do this to what has this name."""
    bindings = [
        AclBinding(kind, name, ResourcePatternType.LITERAL, "User:ops", "*", operation, AclPermissionType.ALLOW)
        for operation in operations
    ]
    for future in admin.create_acls(bindings).values():
        future.result()


def test_a_topic_that_is_forbidden_blocks_no_other(secured: LocalStack) -> None:
    """Also one that may be seen but not written to, and one of which nobody tells whether it is there."""
    names = secured.settings.names
    admin = admin_client(secured.settings.kafka)
    topics = [names.undelivered, *(names.notifications(subscriber) for subscriber in ("ann", "bob", "cem"))]
    for future in admin.create_topics([NewTopic(topic, 1) for topic in topics]).values():
        future.result()
    awaited_facts(admin, topics)
    client = producer(secured.settings.kafka)
    for offset in range(8):
        subscriber = ("ann", "bob", "cem", "dan")[offset % 4]
        value = Notification(f"e{offset}", 0, "shop", 0, offset, [Match("n")], b"{}").encode()
        record = Undelivered(subscriber, names.notifications(subscriber), Obstacle.FORBIDDEN, value)
        client.produce(names.undelivered, record.encode(), subscriber.encode())
    assert client.flush(SECONDS) == 0
    settings = secured.settings.model_copy(update={"kafka": secured.add_user("ops")})
    allow(admin, ResourceType.GROUP, names.undelivered, AclOperation.DESCRIBE)
    allow(admin, ResourceType.TRANSACTIONAL_ID, names.undelivered, AclOperation.WRITE, AclOperation.DESCRIBE)
    for subscriber in ("ann", "dan"):
        allow(admin, ResourceType.TOPIC, names.notifications(subscriber), AclOperation.WRITE, AclOperation.DESCRIBE)
    allow(admin, ResourceType.TOPIC, names.undelivered, AclOperation.READ, AclOperation.WRITE, AclOperation.DESCRIBE)
    allow(admin, ResourceType.TOPIC, names.notifications("bob"), AclOperation.READ, AclOperation.DESCRIBE)
    report = RetryReport()
    retry(settings, Wanted(), report, lambda _more: None)
    left = {
        ("bob", Obstacle.FORBIDDEN): 2,
        ("cem", Obstacle.FORBIDDEN): 2,
        ("dan", Obstacle.MISSING): 2,
    }
    assert (report.sent, {key: some.count for key, some in report.left.items()}) == ({"ann": 2}, left)
    assert {key: some.count for key, some in rehearse(settings, Wanted()).left.items()} == left
    ann = chain.from_iterable(tail(secured.settings.kafka, names.notifications("ann"), Extent(end=END)))
    assert [Notification.decode(message.value() or b"").offset for message in ann] == [0, 4]

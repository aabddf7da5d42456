"""Topics that a broker may not write to, on a secured Kafka with TLS, where it has the rights that docs/broker.md
lists.
"""

import copy
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
)

from broker_cluster import Cluster, Reader
from certificates import Authority
from processes import soon
from serving import SECONDS, delivered, publish, running
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.kafka import TopicPartition, admin_client
from tamis.broker.reading import BEGINNING, records
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered

PREFIX = "tamis"
RIGHTS = {
    (ResourceType.TOPIC, PREFIX): ("DESCRIBE", "READ", "WRITE", "DESCRIBE_CONFIGS"),
    (ResourceType.TOPIC, f"{PREFIX}.notifications."): ("CREATE",),
    (ResourceType.GROUP, PREFIX): ("READ", "DESCRIBE"),
    (ResourceType.TRANSACTIONAL_ID, PREFIX): ("WRITE", "DESCRIBE"),
}


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[LocalStack]:
    with LocalStack(Authority(tmp_path).secured(StackOptions(redis=False))) as stack:
        yield stack


def rule(kind: ResourceType, name: str, right: str, *, is_denial: bool = False) -> AclBinding:
    pattern = ResourcePatternType.LITERAL if is_denial else ResourcePatternType.PREFIXED
    permission = AclPermissionType.DENY if is_denial else AclPermissionType.ALLOW
    return AclBinding(kind, name, pattern, "User:broker", "*", AclOperation[right], permission)


def test_a_forbidden_topic_suspends_its_subscriber_until_it_is_allowed(
    secured: LocalStack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))
    admin = admin_client(secured.settings.kafka)
    cluster = Cluster(secured.settings, PREFIX, tmp_path)
    served = copy.copy(cluster)
    served.settings = cluster.settings.model_copy(update={"kafka": secured.add_user("broker")})
    rights = [rule(*place, right) for place, some in RIGHTS.items() for right in some]
    denials = [
        rule(ResourceType.TOPIC, cluster.names.notifications(subscriber), right, is_denial=True)
        for subscriber, right in (("ann", "WRITE"), ("bob", "DESCRIBE"), ("bob", "WRITE"))
    ]
    for future in admin.create_acls(rights + denials).values():
        future.result()
    names = ("ann", "bob", "cid")
    cluster.make_notification_topics(names[:2])
    cluster.subscribe(*(Subscription(name, "all", "exists a") for name in names))
    with running(served):
        publish(cluster, {"a": 0}, {"a": 1})
        assert len(delivered(cluster, "cid", count=2)) == 2  # whose topic the broker made
        lost = [
            Undelivered.decode(record.value() or b"")
            for record in records(cluster.settings.kafka, [TopicPartition(cluster.names.undelivered, 0, BEGINNING)])
        ]
        assert sorted((one.subscriber, one.reason) for one in lost) == [
            *[("ann", "topic_forbidden")] * 2,
            *[("bob", "topic_forbidden")] * 2,
        ]
        topic = cluster.names.notifications("ann")
        literal, write, deny = ResourcePatternType.LITERAL, AclOperation.WRITE, AclPermissionType.DENY
        denial = AclBindingFilter(ResourceType.TOPIC, topic, literal, "User:broker", "*", write, deny)
        for deletion in admin.delete_acls([denial]).values():
            deletion.result()
        sent = 2
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:

            def is_resumed() -> bool:
                nonlocal sent
                publish(cluster, {"a": sent})
                sent += 1
                return bool(reader.delivered)

            assert soon(is_resumed, SECONDS)
            assert cluster.is_done(SECONDS)
            reader.wait_until_done()
        got = [Notification.decode(each.value).offset for each in reader.delivered]
    assert got == [*range(got[0], sent)]

"""Topics that a broker may not write to, on a secured Kafka with TLS, where it has the rights that docs/rights.md
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
from rights import give, rights_of
from serving import SECONDS, delivered, publish, running
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.kafka import TopicPartition, admin_client
from tamis.broker.lag import lags
from tamis.broker.reading import BEGINNING, records
from tamis.broker.topics import add
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.undelivered import Undelivered


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalStack]:
    authority = Authority(tmp_path_factory.mktemp("authority"))
    with LocalStack(authority.secured(StackOptions(redis=False))) as stack:
        yield stack


def denied(topic: str, user: str, right: str) -> AclBinding:
    literal, deny = ResourcePatternType.LITERAL, AclPermissionType.DENY
    return AclBinding(ResourceType.TOPIC, topic, literal, f"User:{user}", "*", AclOperation[right], deny)


@pytest.mark.parametrize(("prefix", "events"), [("tamis", []), ("acme", ["orders"])])
def test_a_forbidden_topic_suspends_its_subscriber_until_it_is_allowed(
    secured: LocalStack, prefix: str, events: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the prefix is, and also where events come from a topic of another name."""
    monkeypatch.setenv("TAMIS_STATE_DIR", str(tmp_path))
    admin = admin_client(secured.settings.kafka)
    cluster = Cluster(secured.settings, prefix, tmp_path)
    for topic in events:
        add(cluster.settings, topic, partitions=1)
    source = (events or [cluster.names.events])[0]
    user = f"broker-{prefix}"
    served = copy.copy(cluster)
    served.settings = cluster.settings.model_copy(update={"kafka": secured.add_user(user)})
    denials = [
        denied(cluster.names.notifications(subscriber), user, right)
        for subscriber, right in (("ann", "WRITE"), ("bob", "DESCRIBE"), ("bob", "WRITE"))
    ]
    give(admin, [*rights_of("A broker", user, prefix, events), *denials])
    names = ("ann", "bob", "cid")
    cluster.make_notification_topics(names[:2])
    cluster.subscribe(*(Subscription(name, "all", "exists a") for name in names))
    with running(served):
        publish(cluster, {"a": 0}, {"a": 1}, topic=source)
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
        denial = AclBindingFilter(ResourceType.TOPIC, topic, literal, f"User:{user}", "*", write, deny)
        for deletion in admin.delete_acls([denial]).values():
            deletion.result()
        sent = 2
        with Reader(cluster.settings, [cluster.names.notifications("ann")]) as reader:

            def is_resumed() -> bool:
                nonlocal sent
                publish(cluster, {"a": sent}, topic=source)
                sent += 1
                return bool(reader.delivered)

            assert soon(is_resumed, SECONDS)
            assert soon(lambda: not any(each.lag for each in lags(cluster.settings)), SECONDS)
            reader.wait_until_done()
        got = [Notification.decode(each.value).offset for each in reader.delivered]
    assert got == [*range(got[0], sent)]

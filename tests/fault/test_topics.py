"""Topics on a cluster that loses a broker, and for a user who may not see everything."""

from collections.abc import Iterator

import pytest
from confluent_kafka.admin import AclBinding, AclOperation, AclPermissionType, ResourcePatternType, ResourceType

from processes import soon
from stacks import KILLED_KAFKAS
from tamis.admin.local import LocalStack, StackOptions
from tamis.broker.configuration import Settings
from tamis.broker.doctor import kafka_symptoms
from tamis.broker.doctor_findings import Symptom
from tamis.broker.errors import InvalidError
from tamis.broker.kafka import KafkaException, admin_client
from tamis.broker.topic_checks import Finding, Status
from tamis.broker.topic_facts import topic_facts
from tamis.broker.topics import Wanted, check_topics, create, require_topics


@pytest.fixture(scope="module")
def three() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(brokers=3, redis=False, properties=KILLED_KAFKAS)) as stack:
        yield stack


@pytest.fixture(scope="module")
def secured() -> Iterator[LocalStack]:
    with LocalStack(StackOptions(secured=True, redis=False)) as stack:
        yield stack


def problems(settings: Settings) -> list[Finding]:
    return [finding for finding in check_topics(settings) if finding.status is not Status.OK]


def misses_leaders(settings: Settings) -> bool:
    """And nothing else, as far as Kafka answers yet."""
    try:
        return {finding.about for finding in problems(settings)} == {"leaders"}
    except KafkaException:
        return False


def test_topics_survive_the_loss_of_a_broker_and_are_made_without_it(three: LocalStack) -> None:
    settings = three.settings
    made = create(settings, Wanted())
    facts = topic_facts(admin_client(settings.kafka), made.topics)
    assert {fact.replication for fact in facts.values()} == {3}
    assert {(facts[name].config or {})["min.insync.replicas"] for name in settings.names.own} == {"2"}
    assert problems(settings) == []
    for broker in three.brokers[::2]:  # the controller may be any of them
        broker.kill()
        assert soon(lambda: misses_leaders(settings))
        assert {finding.status for finding in problems(settings)} <= {Status.WARN}
        require_topics(settings, made.layout)
        beside = settings.model_copy(update={"prefix": f"without-{broker.node.number}"})
        assert create(beside, Wanted(replication=2)).is_new
        broker.start()
        three.wait_until_ready()
        assert soon(lambda: problems(settings) == [])


def test_what_a_user_may_not_see_is_told_and_does_not_stop_a_broker(secured: LocalStack) -> None:
    layout = create(secured.settings, Wanted()).layout
    settings = secured.settings.model_copy(update={"kafka": secured.add_user("ann")})
    with pytest.raises(KafkaException) as caught:
        check_topics(settings)
    assert caught.value.args[0].name() == "TOPIC_AUTHORIZATION_FAILED"
    allow(secured, ResourceType.TOPIC, "tamis")
    require_topics(settings, layout)
    with pytest.raises(InvalidError, match=r"Kafka forbids it: .*Group authorization failed"):
        check_topics(settings)
    allow(secured, ResourceType.GROUP, "tamis")
    found = problems(settings)
    assert {(finding.status, finding.found) for finding in found} == {(Status.WARN, "not to be seen")}
    assert {finding.about for finding in found} == {"Kafka's version", "settings"}


def test_a_doctor_tells_which_rights_a_user_lacks(secured: LocalStack) -> None:
    create(secured.settings, Wanted())
    settings = secured.settings.model_copy(update={"kafka": secured.add_user("bea")})
    found = {(each.about, each.found) for each in failures(settings)}
    assert ("topic tamis.subscriptions", "not even to be seen") in found
    assert "transactions" in {about for about, _ in found}
    allow(secured, ResourceType.TOPIC, "tamis", "bea")
    allow(secured, ResourceType.GROUP, "tamis", "bea")
    rights = {each.about: each.found for each in failures(settings) if each.area == "rights"}
    assert rights == {f"topic {topic}": "no WRITE" for topic in settings.names.own}
    assert all(each.fix for each in failures(settings))


def failures(settings: Settings) -> list[Symptom]:
    return [symptom for symptom in kafka_symptoms(settings, 10.0) if symptom.status is Status.FAIL]


def allow(stack: LocalStack, kind: ResourceType, prefix: str, user: str = "ann") -> None:
    """Let the user read what begins so."""
    binding = AclBinding(
        *(kind, prefix, ResourcePatternType.PREFIXED, f"User:{user}", "*", AclOperation.READ, AclPermissionType.ALLOW)
    )
    admin = admin_client(stack.settings.kafka)
    for future in admin.create_acls([binding]).values():
        future.result()

"""Whether topics are as Tamis needs them: each finding says what was looked at, and how to mend it."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum

from tamis.broker.configuration import Settings
from tamis.broker.errors import BrokerError, ConflictError, MissingError
from tamis.broker.kafka import AdminClient
from tamis.broker.topic_facts import TopicFacts, has_consumer_protocol, node_ids, topic_facts
from tamis.broker.topic_plans import Plan, Setting, min_in_sync, plans, replicas_for
from tamis.codecs.layout import Layout


class Status(StrEnum):
    """How it is."""

    OK = "OK"
    WARN = "WARN"
    """It works, and may fail one day."""
    FAIL = "FAIL"
    """A promise is broken."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    about: str
    status: Status
    found: str
    wanted: str = ""
    fix: str = ""
    error: type[BrokerError] | None = None
    """With which a broker refuses to start; without one it waits, or works."""


def check(admin: AdminClient, settings: Settings, layout: Layout | None) -> list[Finding]:
    """Everything that topics promise, in the order of the topics; the cluster comes first."""
    own = plans(settings.names) if layout is None else plans(settings.names, layout.partitions)
    events = [] if layout is None else [topic for topic in layout.topics if topic != settings.names.subscriptions]
    facts = topic_facts(admin, [*(plan.name for plan in own), *events])
    nodes = len(node_ids(admin))
    findings = [_protocol(has_consumer_protocol(admin)), _layout(settings, layout)]
    for plan in own:
        findings += _own(plan, facts, layout, nodes)
    if layout is not None:
        for topic in events:
            findings += _event(topic, facts, layout)
    return findings


def _protocol(there: bool | None) -> Finding:  # noqa: FBT001
    if there is None:
        return Finding("", "Kafka's version", Status.WARN, "not to be seen", "4.0 or newer", _ASK)
    if there:
        return Finding("", "Kafka's version", Status.OK, "has the group protocol of KIP-848")
    return Finding(
        *("", "Kafka's version", Status.FAIL, "lacks the group protocol of KIP-848", "4.0 or newer"),
        "Upgrade Kafka to 4.0 or newer, and finalise its features: kafka-features.sh upgrade --release-version 4.0",
        ConflictError,
    )


def _layout(settings: Settings, layout: Layout | None) -> Finding:
    topic = settings.names.layout
    if layout is None:
        return Finding(topic, "layout", Status.FAIL, "none", "", "Write one: tamis topics create", MissingError)
    return Finding(topic, "layout", Status.OK, f"number {layout.number}, shards {layout.shards}")


def _own(plan: Plan, facts: Mapping[str, TopicFacts], layout: Layout | None, nodes: int) -> Iterator[Finding]:
    fact = facts.get(plan.name)
    if fact is None:
        yield Finding(plan.name, "topic", Status.FAIL, "missing", "", "Make it: tamis topics create", MissingError)
        return
    yield from _identity(fact, layout)
    if fact.partitions == plan.partitions:
        yield Finding(plan.name, "partitions", Status.OK, str(fact.partitions))
    else:
        yield _partitions(plan, fact, layout)
    if fact.config is None:
        yield Finding(plan.name, "settings", Status.WARN, "not to be seen", "", _ASK)
    else:
        for setting in plan.settings:
            yield _setting(plan.name, setting, fact.config)
        yield _in_sync(fact, fact.config, nodes)
    yield _replication(fact, nodes)
    yield from _leaders(fact)


def _partitions(plan: Plan, fact: TopicFacts, layout: Layout | None) -> Finding:
    """The subscription topic's decide which shard has which subscription; of the others one may have more."""
    if layout is not None and fact.name in layout.topics:
        return Finding(
            *(plan.name, "partitions", Status.FAIL, str(fact.partitions), str(plan.partitions)),
            "The layout was made for another count, and partitions cannot be taken away: make a new Tamis under "
            "another prefix, and subscribe there.",
            ConflictError,
        )
    return Finding(plan.name, "partitions", Status.WARN, str(fact.partitions), str(plan.partitions), "Nothing to do.")


def _identity(fact: TopicFacts, layout: Layout | None) -> Iterator[Finding]:
    wanted = None if layout is None else layout.topics.get(fact.name)
    if wanted is None:
        yield Finding(fact.name, "topic", Status.OK, f"id {fact.id}")
    elif wanted == fact.id:
        yield Finding(fact.name, "topic", Status.OK, f"id {fact.id}", wanted)
    else:
        yield Finding(
            *(fact.name, "topic", Status.FAIL, f"id {fact.id}", wanted),
            f"It was deleted and made anew. Say where to go on: tamis topics set-start {fact.name} --at start",
            ConflictError,
        )


def _setting(topic: str, setting: Setting, config: Mapping[str, str]) -> Finding:
    found = config.get(setting.name, "")
    wanted = f"{setting.value} or more" if setting.is_least else setting.value
    if found and setting.holds(found):
        return Finding(topic, setting.name, Status.OK, found, wanted)
    status = Status.FAIL if setting.is_promise else Status.WARN
    error = ConflictError if setting.is_promise else None
    return Finding(topic, setting.name, status, found, wanted, _alter(topic, setting.name, setting.value), error)


def _in_sync(fact: TopicFacts, config: Mapping[str, str], nodes: int) -> Finding:
    name = "min.insync.replicas"
    found, wanted = config.get(name, "1"), str(min_in_sync(replicas_for(nodes)))
    if int(found) >= int(wanted):
        return Finding(fact.name, name, Status.OK, found, f"{wanted} or more")
    return Finding(fact.name, name, Status.WARN, found, f"{wanted} or more", _alter(fact.name, name, wanted))


def _replication(fact: TopicFacts, nodes: int) -> Finding:
    wanted = replicas_for(nodes)
    if fact.replication >= wanted:
        return Finding(fact.name, "replicas", Status.OK, str(fact.replication), f"{wanted} or more")
    return Finding(
        *(fact.name, "replicas", Status.WARN, str(fact.replication), f"{wanted} or more"),
        "Give it more, so that no broker's loss is its loss: kafka-reassign-partitions.sh",
    )


def _leaders(fact: TopicFacts) -> Iterator[Finding]:
    if fact.leaderless:
        yield Finding(
            *(fact.name, "leaders", Status.FAIL, f"none of {_numbers(fact.leaderless)}", "one of each partition"),
            "Start Kafka's brokers that have these partitions: until then Tamis waits.",
        )
    elif fact.lagging:
        yield Finding(
            *(fact.name, "leaders", Status.WARN, f"replicas are behind: {_numbers(fact.lagging)}", ""),
            "Start Kafka's brokers that are missing, or wait until they have caught up.",
        )


def _event(topic: str, facts: Mapping[str, TopicFacts], layout: Layout) -> Iterator[Finding]:
    fact = facts.get(topic)
    if fact is None:
        fix = f"Make it, then say where to begin: tamis topics set-start {topic} --at start"
        yield Finding(topic, "topic", Status.FAIL, "missing", "", fix, MissingError)
        return
    yield from _identity(fact, layout)
    policy = "" if fact.config is None else fact.config.get("cleanup.policy", "")
    if "compact" in policy:
        yield Finding(
            *(topic, "cleanup.policy", Status.WARN, policy, "delete"),
            "Of events with one key only the last may be left when they are matched. "
            + _alter(topic, "cleanup.policy", "delete"),
        )
    yield from _leaders(fact)


def _alter(topic: str, name: str, value: str) -> str:
    return f"Change it: kafka-configs.sh --alter --entity-type topics --entity-name {topic} --add-config {name}={value}"


def _numbers(partitions: object) -> str:
    return str(partitions).strip("[]()")


_ASK = "Allow this user DescribeConfigs, or ask somebody who may."

"""Tamis's topics in Kafka, and the layout that says how they are worked on: made once, completed, required at start."""

import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, InvalidError, MissingError
from tamis.broker.kafka import AdminClient, KafkaException, NewTopic, admin_client
from tamis.broker.layouts import change_layout, read_layout, require_layout
from tamis.broker.positions import END, START, resolved
from tamis.broker.topic_checks import Finding, Status, check
from tamis.broker.topic_facts import TopicFacts, awaited_facts, node_ids, patiently, topic_facts
from tamis.broker.topic_plans import SUBSCRIPTION_PARTITIONS, Plan, plans, replicas_for
from tamis.codecs.layout import Layout, Start
from tamis.indexes.limits import Limits

_SECONDS = 30.0
_RETRY_SECONDS = 0.1
_PROPAGATION_SECONDS = 2.0
_EXISTS = "TOPIC_ALREADY_EXISTS"
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Wanted:
    """What a Tamis is made of."""

    event_topics: Sequence[str] = ()
    """The prefix's own, if none is named."""
    shards: int = 1
    subscription_partitions: int = SUBSCRIPTION_PARTITIONS
    event_partitions: int = 4
    """Of event topics that are made."""
    replication: int | None = None
    """Of topics that are made; else three, or as many as there are nodes."""
    from_start: bool = False
    """Whether events count that are there already."""


@dataclass(frozen=True, slots=True)
class Made:
    """What came of it."""

    topics: Mapping[str, bool]
    """All that there are now, and whether they were made just now."""
    layout: Layout
    is_new: bool
    """Whether the layout was written, or changed."""


def create(settings: Settings, wanted: Wanted) -> Made:
    """Make what is missing, whatever is there already. ConflictError if what is there disagrees."""
    events = tuple(wanted.event_topics) or (settings.names.events,)
    _require_event_topics(settings, events)
    if not 1 <= wanted.shards <= wanted.subscription_partitions:
        raise InvalidError(
            f"{wanted.shards} shards of {wanted.subscription_partitions} partitions: there is 1 shard or more, and "
            "each has a partition of the subscription topic."
        )
    admin = admin_client(settings.kafka)
    _require_agreement(_written_layout(admin, settings), wanted, events)
    replication = wanted.replication or replicas_for(len(node_ids(admin)))
    own = plans(settings.names, wanted.subscription_partitions)
    _require_plans(own, topic_facts(admin, [plan.name for plan in own]))
    new = [NewTopic(plan.name, plan.partitions, replication, config=dict(plan.config(replication))) for plan in own]
    new += [NewTopic(topic, wanted.event_partitions, replication) for topic in events]
    made = _make(admin, new)
    facts = awaited_facts(admin, [topic.topic for topic in new])
    _require_plans(own, facts)
    starts = _starts(admin, [facts[topic] for topic in events], from_start=wanted.from_start)
    written = False

    def change(newest: Layout | None) -> Layout | None:
        nonlocal written
        written = newest is None
        _require_agreement(newest, wanted, events)
        if newest is not None:
            _require_same_topics(newest, facts)
            return None
        topics = {topic: facts[topic].id for topic in (settings.names.subscriptions, *events)}
        return Layout(1, wanted.shards, wanted.subscription_partitions, topics, Limits(), starts)

    layout = change_layout(settings, change)
    assert layout is not None
    return Made({topic.topic: topic.topic in made for topic in new}, layout, written)


def add(settings: Settings, topic: str, *, partitions: int | None = None, from_start: bool = False) -> Made:
    """Let a further event topic take part; with `partitions` it is made if it is missing.

    The layout keeps its number, since groups and their offsets are named by it and nothing about them changes: brokers
    that run see a topic more in the newest layout, and begin it at the starts that are written there.
    """
    _require_event_topics(settings, [topic])
    require_layout(settings)
    admin = admin_client(settings.kafka)
    made: set[str] = set()
    facts = topic_facts(admin, [topic])
    if topic not in facts:
        if partitions is None:
            raise MissingError(f"There is no topic {topic}. Make it, or give --partitions and it is made here.")
        made = _make(admin, [NewTopic(topic, partitions, replicas_for(len(node_ids(admin))))])
        facts = awaited_facts(admin, [topic])
    starts = _starts(admin, [facts[topic]], from_start=from_start)
    written = False

    def change(newest: Layout | None) -> Layout | None:
        nonlocal written
        written = False
        if newest is None:
            raise MissingError(f"No layout is written in {settings.names.layout}. Write one: tamis topics create")
        if topic in newest.topics:
            _require_same_topics(newest, facts)
            return None
        written = True
        return replace(
            newest,
            topics={**newest.topics, topic: facts[topic].id},
            starts=(*newest.starts, *starts),
            rules=newest.rules,
        )

    layout = change_layout(settings, change)
    assert layout is not None
    return Made({topic: topic in made}, layout, written)


def require_topics(settings: Settings, layout: Layout) -> None:
    """What a broker asks before it starts. A BrokerError says what is missing or broken, and how to mend it."""
    admin = admin_client(settings.kafka)
    deadline = time.monotonic() + _PROPAGATION_SECONDS
    findings = check(admin, settings, layout)
    while any(finding.error is MissingError for finding in findings) and time.monotonic() < deadline:
        time.sleep(_RETRY_SECONDS)  # it may be so new that this broker of Kafka has not heard of it
        findings = check(admin, settings, layout)
    for finding in findings:
        if finding.error is not None:
            raise finding.error(_told(finding))
        if finding.status is not Status.OK:
            _LOG.warning("%s", _told(finding))


def check_topics(settings: Settings) -> list[Finding]:
    """What there is to say about all topics, whether or not there are any."""
    admin = admin_client(settings.kafka)
    return check(admin, settings, _written_layout(admin, settings))


def _told(finding: Finding) -> str:
    subject = f"{finding.topic}, {finding.about}" if finding.topic else finding.about
    wanted = f" (needed: {finding.wanted})" if finding.wanted else ""
    return f"{subject}: {finding.found or 'not set'}{wanted}. {finding.fix}"


def _written_layout(admin: AdminClient, settings: Settings) -> Layout | None:
    """None also if there is no topic for it yet."""
    return read_layout(settings) if topic_facts(admin, [settings.names.layout]) else None


def _make(admin: AdminClient, topics: Sequence[NewTopic]) -> set[str]:
    """The names of those that were made; whatever is there already is left alone."""
    there = admin.list_topics(timeout=_SECONDS).topics
    missing = [topic for topic in topics if topic.topic not in there]
    return patiently(admin, lambda seconds: _created(admin, missing, seconds)) if missing else set()


def _created(admin: AdminClient, topics: list[NewTopic], seconds: float) -> set[str]:
    made: set[str] = set()
    for name, future in admin.create_topics(topics, request_timeout=seconds).items():
        try:
            future.result()
        except KafkaException as error:
            if error.args[0].name() != _EXISTS:  # somebody else was faster
                raise
        else:
            made.add(name)
    return made


def _starts(admin: AdminClient, facts: Iterable[TopicFacts], *, from_start: bool) -> list[Start]:
    """The end of each partition as it is now, or its beginning."""
    position = START if from_start else END
    return [
        Start(fact.name, partition, offset)
        for fact in facts
        for partition, offset in sorted(resolved(admin, fact.name, range(fact.partitions), position, _SECONDS).items())
    ]


def _require_event_topics(settings: Settings, topics: Iterable[str]) -> None:
    for topic in topics:
        if topic in settings.names.own or topic.startswith(settings.names.notifications("")):
            raise InvalidError(f"{topic} is a topic of Tamis's own, so events cannot come from it.")


def _require_agreement(layout: Layout | None, wanted: Wanted, events: Iterable[str]) -> None:
    """Asked before anything is made, so that a mistake makes nothing."""
    if layout is None:
        return
    for topic in events:
        if topic not in layout.topics:
            raise ConflictError(
                f"{topic} is no topic of layout {layout.number}. Let it take part: tamis topics add {topic}"
            )
    for what, there, asked in (
        ("shards", layout.shards, wanted.shards),
        ("partitions of the subscription topic", layout.partitions, wanted.subscription_partitions),
    ):
        if there != asked:
            raise ConflictError(
                f"Layout {layout.number} has {there} {what}, and {asked} were asked for. It stays as it is: ask for "
                f"{there}, or make another Tamis beside it with another prefix."
            )


def _require_plans(own: Iterable[Plan], facts: Mapping[str, TopicFacts]) -> None:
    """Of those that are there."""
    for plan in own:
        fact = facts.get(plan.name)
        if fact is None:
            continue
        for setting in plan.settings:
            found = (fact.config or {}).get(setting.name)
            if setting.is_promise and found is not None and not setting.holds(found):
                raise ConflictError(
                    f"{plan.name} is there with {setting.name}={found}, and {setting.value} is needed. Change it "
                    "(tamis topics check shows how), or choose another prefix."
                )
        if fact.partitions != plan.partitions:
            raise ConflictError(
                f"{plan.name} is there with {fact.partitions} partitions, and {plan.partitions} were asked for. "
                "Delete it if it is empty, or choose another prefix."
            )


def _require_same_topics(layout: Layout, facts: Mapping[str, TopicFacts]) -> None:
    for topic, known in layout.topics.items():
        fact = facts.get(topic)
        if fact is not None and fact.id != known:
            raise ConflictError(
                f"{topic} was deleted and made anew: its id is {fact.id}, and layout {layout.number} has {known}. Say "
                f"where to go on: tamis topics set-start {topic} --at start"
            )

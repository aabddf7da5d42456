"""The topics of one Tamis, and what each is for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.kafka import EARLIEST, LATEST, AdminClient, KafkaException, OffsetSpec, TopicPartition, admin_client
from tamis.broker.layouts import read_layout
from tamis.broker.topic_facts import TopicFacts, topic_facts

_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class ListedTopic:
    """One topic."""

    facts: TopicFacts
    role: str
    offsets: int | None
    """From its first record to its end: no fewer than there are records. None if that cannot be told just now."""


def list_topics(settings: Settings, *, notifications: bool = False) -> list[ListedTopic]:
    """Its own and its event topics; subscribers' topics, of which there may be many, if they are asked for."""
    admin = admin_client(settings.kafka)
    there = admin.list_topics(timeout=_SECONDS).topics
    names = settings.names
    roles = {topic: topic.removeprefix(f"{names.prefix}.") for topic in names.own}
    layout = read_layout(settings) if names.layout in there else None
    events = [names.events] if layout is None else sorted(layout.topics.keys() - {names.subscriptions})
    roles |= dict.fromkeys(events, "events")
    if notifications:
        roles |= dict.fromkeys(
            (topic for topic in sorted(there) if topic.startswith(names.notifications(""))), "notifications"
        )
    facts = topic_facts(admin, roles)
    counts = _offsets(admin, list(facts.values()))
    return [ListedTopic(fact, roles[topic], counts.get(topic)) for topic, fact in facts.items()]


def _offsets(admin: AdminClient, facts: Sequence[TopicFacts]) -> Mapping[str, int]:
    places = [TopicPartition(fact.name, number) for fact in facts for number in range(fact.partitions)]
    lows, ends = _asked(admin, places, EARLIEST), _asked(admin, places, LATEST)
    counts: dict[str, int] = {}
    for fact in facts:
        keys = [(fact.name, number) for number in range(fact.partitions)]
        if all(key in lows and key in ends for key in keys):
            counts[fact.name] = sum(ends[key] - lows[key] for key in keys)
    return counts


def _asked(admin: AdminClient, places: Sequence[TopicPartition], spec: OffsetSpec) -> dict[tuple[str, int], int]:
    """Without the partitions that do not answer."""
    found: dict[tuple[str, int], int] = {}
    if not places:
        return found
    for place, future in admin.list_offsets(dict.fromkeys(places, spec), request_timeout=_SECONDS).items():
        try:
            found[place.topic, place.partition] = future.result().offset
        except KafkaException:
            continue  # it has no leader just now, which `check` tells
    return found

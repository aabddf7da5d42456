"""What an archiver reads: which topics, from where on, and what of them is gone already."""

import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field

from tamis.broker.configuration import Settings
from tamis.broker.errors import MissingError, UnreachableError
from tamis.broker.kafka import EARLIEST, AdminClient, KafkaException, OffsetSpec, admin_client
from tamis.broker.lag_ends import Place, log_ends, offsets
from tamis.broker.topic_facts import TopicFacts, topic_ids
from tamis.broker.topic_list import list_topics
from tamis.spark_sink.archive_tables import Beginning, Slice
from tamis.spark_sink.errors import ArchiveError

_SECONDS = 15.0
_MARGIN = 0.9
"""Of the time for which compaction leaves records alone: for the rest of it they are still being read."""


@dataclass(frozen=True, slots=True)
class Log:
    """One partition of a topic, as Kafka has it."""

    topic: str
    slice: Slice
    low: int
    """Its first offset."""
    end: int
    """Behind the last one that can be read: an open transaction hides what follows."""

    @property
    def place(self) -> Place:
        return self.topic, self.slice[1]


@dataclass(frozen=True, slots=True)
class Topics:
    """All there are to archive, and where each of their partitions begins and ends."""

    facts: Mapping[str, TopicFacts]
    roles: Mapping[str, str]
    logs: tuple[Log, ...]
    missing: tuple[str, ...] = ()
    """Event topics of the layout that are not there."""

    @property
    def ids(self) -> dict[str, str]:
        return {name: fact.id for name, fact in self.facts.items()}


@dataclass(frozen=True, slots=True)
class Plan:
    """From where on to read."""

    topics: Topics
    starts: Mapping[Place, int]
    beginnings: tuple[Beginning, ...]
    """What is new to the archive, and where it is not whole."""
    known: Mapping[Slice, int] = field(default_factory=dict[Slice, int])
    """Where all partitions went on that the archive has ever read."""

    @property
    def losses(self) -> list[Beginning]:
        return [beginning for beginning in self.beginnings if beginning.is_loss]

    @property
    def waiting(self) -> int:
        """Offsets to read."""
        return sum(log.end - self.starts[log.place] for log in self.topics.logs)

    def nexts(self, ends: Mapping[Place, int]) -> dict[Slice, int]:
        """Where all partitions go on, once these were read up to there."""
        ids = self.topics.ids
        return {**self.known, **{(ids[topic], partition): offset for (topic, partition), offset in ends.items()}}


def topics_of(settings: Settings, *, notifications: bool) -> Topics:
    """UnreachableError if Kafka does not tell all of it: what is not known of must not be left out."""
    admin = admin_client(settings.kafka)
    try:
        listed = list_topics(settings, notifications=notifications)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell which topics there are: {error.args[0].str()}") from error
    facts = {one.facts.name: one.facts for one in listed}
    if not facts:
        raise MissingError(
            f"Tamis has no topics here. Make them: tamis topics create (the prefix is {settings.prefix!r})."
        )
    logs = tuple(_logs(admin, facts.values()))
    roles = {one.facts.name: one.role for one in listed}
    return Topics(facts, roles, logs, tuple(_missing_events(settings, facts)))


def _missing_events(settings: Settings, facts: Collection[str]) -> Iterator[str]:
    from tamis.broker.layouts import read_layout

    layout = read_layout(settings) if settings.names.layout in facts else None
    yield from sorted((set() if layout is None else layout.topics.keys()) - set(facts))


def _logs(admin: AdminClient, facts: Collection[TopicFacts]) -> Iterator[Log]:
    places = [(fact.name, partition) for fact in facts for partition in range(fact.partitions)]
    lows = offsets(admin, dict.fromkeys(places, EARLIEST), _SECONDS)
    ends = log_ends(admin, places, _SECONDS, committed=True)
    for fact in facts:
        for partition in range(fact.partitions):
            place = fact.name, partition
            if place not in lows or place not in ends:
                raise UnreachableError(f"Kafka does not tell where {fact.name} [{partition}] begins and ends.")
            # Its beginning was asked for first, and may have moved beyond the end meanwhile.
            yield Log(fact.name, (fact.id, partition), min(lows[place], ends[place]), ends[place])


def plan(settings: Settings, topics: Topics, nexts: Mapping[Slice, int]) -> Plan:
    """From where the archive goes on, by its own next offsets."""
    starts: dict[Place, int] = {}
    compacted = compacted_to(settings, topics, _MARGIN)
    beginnings: list[Beginning] = []
    for log in topics.logs:
        known = nexts.get(log.slice)
        if known is not None and known > log.end:
            raise ArchiveError(
                f"{log.topic} [{log.slice[1]}] ends at {log.end} in Kafka, and the archive has it up to {known}: Kafka "
                "has lost records that were acknowledged, and what is written there now has offsets of theirs. Archive "
                "to another folder from now on: --path, or archive.path."
            )
        start = max(log.low, log.low if known is None else known)
        starts[log.place] = start
        bound = max(start, min(compacted.get(log.place, 0), log.end))
        missing_from = start if known is None else known
        if known is None or missing_from < start or start < bound:
            beginnings.append(Beginning(log.topic, log.slice, start, missing_from, bound))
    return Plan(topics, starts, tuple(beginnings), dict(nexts))


def compacted_to(settings: Settings, topics: Topics, share: float) -> dict[Place, int]:
    """Of partitions that are compacted: before it, records are older than this share of their time of grace."""
    now = time.time_ns() // 1_000_000
    graces = {fact.name: _grace(fact) for fact in topics.facts.values()}
    asked = {log.place: now - round(grace * share) for log in topics.logs if (grace := graces[log.topic]) is not None}
    return first_not_before(settings, topics, asked)


def first_not_before(settings: Settings, topics: Topics, asked: Mapping[Place, int]) -> dict[Place, int]:
    """The first offset that Kafka's timestamp puts not before that time, in milliseconds; else the end."""
    admin = admin_client(settings.kafka)
    ends = {log.place: log.end for log in topics.logs}
    found = offsets(admin, {place: OffsetSpec.for_timestamp(max(0, at)) for place, at in asked.items()}, _SECONDS)
    return {place: found[place] if found.get(place, -1) >= 0 else ends[place] for place in asked}


def _grace(fact: TopicFacts) -> int | None:
    """For so long compaction leaves records alone, in milliseconds; None if nothing is compacted."""
    if fact.config is None:
        return 0  # who may not see the settings expects the worst
    if "compact" not in fact.config.get("cleanup.policy", ""):
        return None
    return int(fact.config.get("min.compaction.lag.ms", "0"))


def ids_now(settings: Settings, names: Collection[str]) -> dict[str, str]:
    """Of topics that are there."""
    try:
        return topic_ids(admin_client(settings.kafka), list(names), _SECONDS)
    except KafkaException as error:
        raise UnreachableError(f"Kafka does not tell the ids of topics: {error.args[0].str()}") from error

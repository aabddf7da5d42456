"""Saying where groups go on in a topic: what a human decides when what they had committed is of no more use."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConflictError, InvalidError, MissingError
from tamis.broker.kafka import (
    AdminClient,
    ConsumerGroupTopicPartitions,
    TopicPartition,
    admin_client,
    consumer,
)
from tamis.broker.layouts import change_layout, require_layout
from tamis.broker.positions import START, Position, resolved
from tamis.broker.topic_facts import members_of, topic_facts
from tamis.broker.transactions import is_forbidden, last_word
from tamis.codecs.layout import Layout, Start

_SECONDS = 30.0


@dataclass(frozen=True, slots=True)
class Move:
    """Of one group in one partition."""

    group: str
    partition: int
    before: int | None
    """The next offset that it had committed, None if none."""
    after: int


@dataclass(frozen=True, slots=True)
class Decision:
    """Where the groups of all shards go on in a topic, and which topic that is."""

    topic: str
    topic_id: str
    known_id: str
    """What the layout had it for until now."""
    moves: Sequence[Move]


def decide(settings: Settings, topic: str, position: Position, partitions: Sequence[int] = ()) -> Decision:
    """What `apply` would do: in these partitions, or in all.

    ConflictError if a group has members, who would not hear of it.
    """
    layout = require_layout(settings)
    known = layout.topics.get(topic)
    if known is None:
        raise MissingError(
            f"{topic} is no topic of layout {layout.number}. There are: {', '.join(sorted(layout.topics))}."
        )
    admin = admin_client(settings.kafka)
    facts = topic_facts(admin, [topic]).get(topic)
    if facts is None:
        raise MissingError(f"There is no topic {topic}. Make it first; tamis topics create does.")
    if topic == settings.names.subscriptions:
        if position != START or partitions:
            raise InvalidError(f"{topic} is always read from its beginning: --at start is all there is to say.")
        _require_no_members(admin, settings, layout)
        return Decision(topic, facts.id, known, ())
    unknown = sorted(set(partitions) - set(range(facts.partitions)))
    if unknown:
        raise MissingError(f"{topic} has the partitions 0 to {facts.partitions - 1}, and no {unknown[0]}.")
    if partitions and known != facts.id:
        raise InvalidError(f"{topic} was deleted and made anew, so all of its partitions need a start: name none.")
    _require_no_members(admin, settings, layout)
    wanted = sorted(set(partitions)) or range(facts.partitions)
    offsets = resolved(admin, topic, wanted, position)
    moves = [
        Move(group, partition, before, offsets[partition])
        for group in _groups(settings, layout)
        for partition, before in _committed(settings, group, topic, wanted).items()
    ]
    return Decision(topic, facts.id, known, moves)


def apply(settings: Settings, decision: Decision) -> Layout:
    """Commit it for each group, then let the layout know the topic that it is about.

    In this order, so that if it ends half-way brokers still refuse to start, and doing it again completes it.
    """
    admin = admin_client(settings.kafka)
    for group in dict.fromkeys(move.group for move in decision.moves):
        places = [
            TopicPartition(decision.topic, move.partition, move.after) for move in decision.moves if move.group == group
        ]
        _commit(admin, group, places)
    starts = {(decision.topic, move.partition): move.after for move in decision.moves}

    def change(newest: Layout | None) -> Layout | None:
        if newest is None or decision.topic not in newest.topics:
            raise ConflictError(f"The layout changed meanwhile: it has no {decision.topic} any more. Look at it again.")
        kept = [start for start in newest.starts if (start.topic, start.partition) not in starts]
        if newest.topics[decision.topic] != decision.topic_id:
            kept = [start for start in kept if start.topic != decision.topic]
        moved = [Start(topic, partition, offset) for (topic, partition), offset in sorted(starts.items())]
        topics = {**newest.topics, decision.topic: decision.topic_id}
        return replace(newest, topics=topics, starts=(*kept, *moved), rules=newest.rules)

    layout = change_layout(settings, change)
    assert layout is not None
    return layout


def _groups(settings: Settings, layout: Layout) -> list[str]:
    return [settings.names.group(layout.number, shard) for shard in range(layout.shards)]


def _require_no_members(admin: AdminClient, settings: Settings, layout: Layout) -> None:
    for group, members in members_of(admin, _groups(settings, layout)).items():
        if members:
            raise ConflictError(
                f"Group {group} has members ({members}), who would go on where they are. Stop its brokers first; one "
                "that was killed is gone when Kafka has missed it for a while."
            )


def _committed(settings: Settings, group: str, topic: str, partitions: Sequence[int]) -> dict[int, int | None]:
    """Asked as a member would: this waits while a transaction that has offsets in it is being decided."""
    client = consumer(settings.kafka, group)
    try:
        found = client.committed([TopicPartition(topic, partition) for partition in partitions], _SECONDS)
    finally:
        client.close()
    return {place.partition: None if place.offset < 0 else place.offset for place in found}


def _commit(admin: AdminClient, group: str, places: list[TopicPartition]) -> None:
    """Kafka itself refuses it if somebody joined meanwhile."""
    request = [ConsumerGroupTopicPartitions(group, places)]
    future = admin.alter_consumer_group_offsets(request, request_timeout=_SECONDS)[group]
    for place in future.result().topic_partitions:
        if place.error is not None:
            if is_forbidden(place.error):
                raise last_word(place.error)
            raise ConflictError(
                f"Kafka does not let {group} start at {place.offset} in {place.topic} [{place.partition}]: "
                f"{place.error.str()}. Did one of its brokers start meanwhile?"
            )

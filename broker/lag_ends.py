"""Where partitions end, whoever owns them, as whoever looks on asks Kafka: what cannot be told is left out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.kafka import LATEST, AdminClient, IsolationLevel, KafkaException, OffsetSpec, TopicPartition

Place = tuple[str, int]
"""Topic and partition."""

_NO_GROUP = "GROUP_ID_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Owner:
    """The member of a group that has a partition."""

    client: str
    """What the client calls itself."""
    host: str
    member: str
    """Kafka's name of it."""


def places_of(admin: AdminClient, topics: Iterable[str], seconds: float) -> list[Place]:
    """All partitions of these topics. A topic that is not there has none."""
    found: list[Place] = []
    for topic in topics:
        described = admin.list_topics(topic, timeout=seconds).topics.get(topic)
        if described is not None and described.error is None:
            found += [(topic, partition) for partition in sorted(described.partitions)]
    return found


def log_ends(
    admin: AdminClient, places: Iterable[Place], seconds: float, *, committed: bool = False
) -> dict[Place, int]:
    """By default behind all that is written; `committed` ends where a transaction is open."""
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    return offsets(admin, dict.fromkeys(places, LATEST), seconds, isolation)


def offsets(
    admin: AdminClient,
    asked: Mapping[Place, OffsetSpec],
    seconds: float,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
) -> dict[Place, int]:
    """Without the partitions that do not answer: they have no leader, or are gone."""
    found: dict[Place, int] = {}
    if not asked:
        return found
    wanted = {TopicPartition(*place): spec for place, spec in asked.items()}
    for place, future in admin.list_offsets(wanted, isolation_level=isolation, request_timeout=seconds).items():
        try:
            found[place.topic, place.partition] = future.result().offset
        except KafkaException:
            continue
    return found


def owners(admin: AdminClient, groups: Iterable[str], seconds: float) -> Mapping[str, dict[Place, Owner]]:
    """Of each group, who has which partition; a group that is not there has no members."""
    found: dict[str, dict[Place, Owner]] = {}
    for group, future in admin.describe_consumer_groups(list(groups), request_timeout=seconds).items():
        owned = found.setdefault(group, {})
        try:
            members = future.result().members
        except KafkaException as error:
            if error.args[0].name() != _NO_GROUP:
                raise
            continue
        for member in members:
            for place in member.assignment.topic_partitions if member.assignment else ():
                owned[place.topic, place.partition] = Owner(member.client_id, member.host.lstrip("/"), member.member_id)
    return found

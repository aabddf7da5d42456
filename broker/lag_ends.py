"""Where partitions end, whoever owns them, as whoever looks on asks Kafka: what cannot be told is left out."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.kafka import LATEST, AdminClient, IsolationLevel, KafkaException, TopicPartition

Place = tuple[str, int]
"""Topic and partition."""

_NO_GROUP = "GROUP_ID_NOT_FOUND"


@dataclass(frozen=True, slots=True)
class Owner:
    """The member of a group that has a partition."""

    client: str
    host: str


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
    """By default all that is written; `committed` leaves out what lies behind a transaction that is open."""
    asked = {TopicPartition(*place): LATEST for place in places}
    if not asked:
        return {}
    isolation = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    ends: dict[Place, int] = {}
    for place, future in admin.list_offsets(asked, isolation_level=isolation, request_timeout=seconds).items():
        try:
            ends[place.topic, place.partition] = future.result().offset
        except KafkaException:
            continue  # it has no leader, or is gone
    return ends


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
                owned[place.topic, place.partition] = Owner(member.client_id, member.host)
    return found

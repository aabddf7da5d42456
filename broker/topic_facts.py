"""What Kafka tells of topics, of itself and of groups, for those who make and check them."""

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from tamis.broker.errors import UnreachableError
from tamis.broker.kafka import (
    AdminClient,
    ConfigResource,
    KafkaException,
    ResourceType,
    described,
)

Answer = TypeVar("Answer")
_SECONDS = 15.0
_TRIES = (3.0, 6.0)
_AT_ONCE = 500
_RETRY_SECONDS = 0.05
_SAFE = str.maketrans("+/", "-_")
_UNKNOWN = "UNKNOWN_TOPIC_OR_PART"
_SLOW = ("_TIMED_OUT", "_TRANSPORT", "REQUEST_TIMED_OUT")
_FORBIDDEN = ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED")


@dataclass(frozen=True, slots=True)
class TopicFacts:
    """One topic, as it is."""

    name: str
    id: str
    """As Kafka prints it; a topic that was deleted and made anew has another one."""
    partitions: int
    replication: int
    """Of the partition that has the fewest."""
    leaderless: Sequence[int]
    """Partitions that nobody can read or write just now."""
    lagging: Sequence[int]
    """Partitions of which a replica is behind."""
    config: Mapping[str, str] | None
    """None if we may not see it."""


def topic_facts(admin: AdminClient, names: Iterable[str]) -> dict[str, TopicFacts]:
    """Of those that exist, in the given order."""
    found: dict[str, TopicFacts] = {}
    wanted = list(dict.fromkeys(names))
    for start in range(0, len(wanted), _AT_ONCE):
        found |= _facts(admin, wanted[start : start + _AT_ONCE])
    return found


def awaited_facts(admin: AdminClient, names: Sequence[str], seconds: float = _SECONDS) -> dict[str, TopicFacts]:
    """Of topics that were made just now: not every broker knows of them at once."""
    deadline = time.monotonic() + seconds
    while True:
        found = topic_facts(admin, names)
        missing = [name for name in names if name not in found or found[name].leaderless]
        if not missing:
            return found
        if time.monotonic() > deadline:
            raise UnreachableError(
                f"{missing[0]} was made, but has no leader for {seconds:g} s. Are all of Kafka's brokers running?"
            )
        time.sleep(_RETRY_SECONDS)


def topic_ids(admin: AdminClient, names: Sequence[str], seconds: float) -> dict[str, str]:
    """Of those that exist. KafkaException if Kafka does not tell."""
    return {name: _printed(found.topic_id) for name, found in _descriptions(admin, names, seconds).items()}


def node_ids(admin: AdminClient) -> list[int]:
    return [node.id for node in admin.describe_cluster(request_timeout=_SECONDS).result().nodes]


def has_consumer_protocol(admin: AdminClient) -> bool | None:
    """Whether every broker has the group protocol of KIP-848, as Kafka 4.0 does; None if we may not ask."""
    answers = [_has_consumer_protocol(admin, node) for node in node_ids(admin)]
    return None if set(answers) == {None} else False not in answers


def patiently(admin: AdminClient, ask: Callable[[float], Answer]) -> Answer:
    """The answer to a question that goes to the controller; it is asked with a timeout in seconds, up to three times.

    A client that takes a broker for it which has just died waits there in vain, until it looks around anew.
    """
    for seconds in _TRIES:
        try:
            return ask(seconds)
        except KafkaException as error:
            if error.args[0].name() not in _SLOW:
                raise
        admin.list_topics(timeout=_SECONDS)
    return ask(_SECONDS)


def members_of(admin: AdminClient, groups: Sequence[str]) -> dict[str, int]:
    """How many each has; a group that does not exist has none."""
    counts: dict[str, int] = {}
    for group, future in admin.describe_consumer_groups(list(groups), request_timeout=_SECONDS).items():
        try:
            counts[group] = len(future.result().members)
        except KafkaException as error:
            if error.args[0].name() != "GROUP_ID_NOT_FOUND":
                raise
            counts[group] = 0
    return counts


def _facts(admin: AdminClient, names: Sequence[str]) -> dict[str, TopicFacts]:
    descriptions = patiently(admin, lambda seconds: _descriptions(admin, names, seconds))
    configs = _configs(admin, list(descriptions))
    return {
        name: TopicFacts(
            name=name,
            id=_printed(description.topic_id),
            partitions=len(description.partitions),
            replication=min(len(partition.replicas) for partition in description.partitions),
            leaderless=[p.id for p in description.partitions if p.leader is None or p.leader.id < 0],
            lagging=[p.id for p in description.partitions if len(p.isr) < len(p.replicas)],
            config=configs.get(name),
        )
        for name, description in descriptions.items()
    }


def _descriptions(admin: AdminClient, names: Sequence[str], seconds: float) -> dict[str, Any]:
    """Of topics that exist. A partition may have no leader, whatever the library's types say."""
    found: dict[str, Any] = {}
    for name, told in described(admin, names, seconds):
        if not isinstance(told, KafkaException):
            found[name] = told
        elif told.args[0].name() != _UNKNOWN:
            raise told
    return found


def _has_consumer_protocol(admin: AdminClient, node: int) -> bool | None:
    """None if this broker does not say."""
    resource = ConfigResource(ResourceType.BROKER, str(node))
    try:
        config = admin.describe_configs([resource], request_timeout=_TRIES[0])[resource].result()
    except KafkaException as error:
        if error.args[0].name() not in (*_FORBIDDEN, *_SLOW):
            raise
        return None
    entry = config.get("group.coordinator.rebalance.protocols")
    return entry is not None and "consumer" in (entry.value or "").split(",")


def _printed(topic_id: object) -> str:
    """As Kafka's own tools do, in the alphabet that is safe in file names; the client prints the other one."""
    return str(topic_id).translate(_SAFE)


def _configs(admin: AdminClient, names: Sequence[str]) -> dict[str, Mapping[str, str]]:
    if not names:
        return {}
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    return patiently(admin, lambda seconds: _described(admin, resources, seconds))


def _described(admin: AdminClient, resources: list[ConfigResource], seconds: float) -> dict[str, Mapping[str, str]]:
    configs: dict[str, Mapping[str, str]] = {}
    for resource, future in admin.describe_configs(resources, request_timeout=seconds).items():
        try:
            configs[resource.name] = {key: entry.value or "" for key, entry in future.result().items()}
        except KafkaException as error:
            if error.args[0].name() not in (*_FORBIDDEN, _UNKNOWN):  # unknown: deleted since it was described
                raise
    return configs

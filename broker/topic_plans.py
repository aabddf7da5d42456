"""What each of Tamis's own topics is made with, and which of that it cannot do without."""

from collections.abc import Mapping
from dataclasses import dataclass

from tamis.broker.names import Names

_DAY_MS = 86_400_000
_LARGE = 2 << 20
"""Bytes of a record that carries another one: Kafka's own bound of that one, twice."""
SUBSCRIPTION_PARTITIONS = 16
BY_KAFKAS_CLOCK = ("message.timestamp.type", "LogAppendTime")
"""Else it is by the writer's clock that Kafka refuses what is an hour ahead, and soon deletes what is weeks behind."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One of Kafka's settings of a topic."""

    name: str
    value: str
    is_promise: bool = True
    """Whether Tamis's promises rest on it; else it is advice."""
    is_least: bool = False
    """Whether more will do as well."""

    def holds(self, found: str) -> bool:
        if not self.is_least:
            return found == self.value
        return int(found) < 0 or int(found) >= int(self.value)  # below zero means without a bound


@dataclass(frozen=True, slots=True)
class Plan:
    """One topic."""

    name: str
    partitions: int
    settings: tuple[Setting, ...]

    def config(self, replication: int) -> Mapping[str, str]:
        """As it is made."""
        config = {setting.name: setting.value for setting in self.settings}
        return {**config, "min.insync.replicas": str(min_in_sync(replication))}


def replicas_for(nodes: int) -> int:
    """How many a topic has in a cluster of so many nodes, if nobody says otherwise."""
    return min(3, nodes)


def min_in_sync(replication: int) -> int:
    """With three replicas one may be away and no acknowledged record is lost; with fewer there is no such choice."""
    return 2 if replication > 2 else 1  # noqa: PLR2004


def plans(names: Names, subscription_partitions: int = SUBSCRIPTION_PARTITIONS) -> tuple[Plan, ...]:
    """In the order of `Names.own`: the layout's topic is the first one that a cluster needs."""
    ordered = Setting("unclean.leader.election.enable", "false")  # else acknowledged records may vanish
    compacted = Setting("cleanup.policy", "compact")
    deleted = Setting("cleanup.policy", "delete")
    large = Setting("max.message.bytes", str(_LARGE), is_promise=False, is_least=True)
    dated = Setting(*BY_KAFKAS_CLOCK, is_promise=False)
    return (
        Plan(names.layout, 1, (compacted, ordered, dated)),
        Plan(
            names.subscriptions,
            subscription_partitions,
            (
                compacted,
                ordered,
                # With the producers' clocks the lags below could be bypassed.
                Setting(*BY_KAFKAS_CLOCK),
                # A snapshot that is younger finds all that came since, and the tombstones of what went.
                Setting("min.compaction.lag.ms", str(7 * _DAY_MS), is_least=True),
                Setting("delete.retention.ms", str(7 * _DAY_MS), is_least=True),
            ),
        ),
        Plan(names.views, 1, (deleted, dated, _retention(30))),
        Plan(names.rejected, 1, (deleted, dated, _retention(7), large)),
        Plan(names.undelivered, 1, (deleted, dated, _retention(30), large)),
    )


def _retention(days: int) -> Setting:
    return Setting("retention.ms", str(days * _DAY_MS), is_promise=False, is_least=True)

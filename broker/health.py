"""Whether a broker process is alive, and whether it is ready: what `/livez` and `/readyz` answer.

Alive is one whose loop turns, or that says what it waits for; a Kafka that is away is no reason to kill it. Ready is
one that has all subscriptions and takes part in its group, and whose transactions pass: a new version that is not ready
is not to replace the old one.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tamis.broker.health_facts import HealthFacts
from tamis.broker.metrics import Meters

_ABORTS_MAX = 3
_JOINING_SECONDS = 3.0
"""Kafka may have given it partitions of which it has not heard yet."""


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at."""

    name: str
    is_good: bool
    told: str


class Health:
    """Of one process."""

    def __init__(self, meters: Meters, facts: HealthFacts, stall_seconds: float) -> None:
        """Its loop is to turn within so many seconds."""
        self._meters = meters
        self._facts = facts
        self._stall_seconds = stall_seconds

    def life(self) -> list[Check]:
        """Asks nobody."""
        seconds = time.monotonic() - self._meters.turned_at
        return [Check("loop", seconds < self._stall_seconds, f"turned {seconds:.1f} s ago")]

    def readiness(self, *, verbose: bool = False) -> list[Check]:
        """In the order in which a process becomes ready. `verbose` asks Kafka for causes."""
        return [*self.life(), *self._subscriptions(verbose=verbose), *self._group(), self._transactions()]

    def is_ready(self) -> bool:
        return all(check.is_good for check in self.readiness())

    def _subscriptions(self, *, verbose: bool) -> Iterator[Check]:
        meters, name = self._meters, "subscriptions"
        if meters.stalled:
            yield _bad(name, meters.stalled)
            if verbose:
                yield from (_bad(name, obstacle) for obstacle in self._facts.obstacles())
        elif meters.reading is None:
            yield _good(name, f"all of them are applied, {meters.subscriptions} in force")
        else:
            done, total = meters.reading.done, meters.reading.total
            known = "" if not total else f": {done} of {total} records ({done / total:.0%})"
            yield _bad(name, f"reading them{known}")

    def _group(self) -> Iterator[Check]:
        meters = self._meters
        if meters.failure:
            yield _bad("group", f"starting again with new clients: {meters.failure}")
        elif meters.layout is None:
            yield _bad("group", "it is in none")
        elif meters.positions:
            yield _good("group", f"partitions: {len(meters.positions)}")
        elif time.monotonic() - meters.joined_at > _JOINING_SECONDS and self._facts.all_are_assigned():
            yield _good("group", "all partitions are assigned, none of them to this process: it stands by")
        else:
            yield _bad("group", "joining, no partition was assigned yet")

    def _transactions(self) -> Check:
        aborted = self._meters.aborted_in_a_row
        if aborted < _ABORTS_MAX:
            return _good("transactions", f"{self._meters.transactions} committed")
        return _bad("transactions", f"the last {aborted} were aborted")


def _good(name: str, told: str) -> Check:
    return Check(name, is_good=True, told=told)


def _bad(name: str, told: str) -> Check:
    return Check(name, is_good=False, told=told)

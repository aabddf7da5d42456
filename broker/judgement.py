"""What records of the subscription topic come to: one judge for whatever asks, be it years later.

Validity depends on the record, its partition and the layout's limits, and on nothing else.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from tamis.broker.partitions import partition_of
from tamis.codecs.layout import Layout
from tamis.codecs.subscription_columns import SubscriptionColumns
from tamis.codecs.subscription_reader import read_subscriptions
from tamis.indexes import parse_many
from tamis.indexes.columnar import Expressions


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    """A record of the subscription topic that is no subscription: at which position of those given, and why."""

    position: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Judgement:
    """On records of one partition, in their order."""

    columns: SubscriptionColumns
    expressions: Expressions
    """The valid ones, in the order of the columns."""
    wrong: Mapping[int, str]
    """Of the columns' places, those whose expression is none, and why."""
    strangers: Mapping[int, str]
    """The positions of records that belong to another partition, and why."""

    def replaced(self) -> Iterator[tuple[int, str]]:
        """Position and key of each record that takes away what its key had, whatever else it does."""
        for position, key in enumerate(self.columns.keys):
            if key is not None and position not in self.strangers:
                yield position, key

    def in_force(self) -> Iterator[tuple[int, int, int]]:
        """Of each record that puts a subscription in force: position, place in the columns, and in the expressions."""
        parsed = -1
        for place, position in enumerate(self.columns.positions.tolist()):
            if place in self.wrong:
                continue
            parsed += 1
            if self.columns.paused[place] is None and position not in self.strangers:
                yield position, place, parsed

    def invalid(self) -> list[InvalidRecord]:
        """By position."""
        positions = self.columns.positions
        found = [InvalidRecord(at.position, at.reason, at.message) for at in self.columns.refusals]
        found += [InvalidRecord(int(positions[at]), "bad_expression", why) for at, why in self.wrong.items()]
        found = [record for record in found if record.position not in self.strangers]
        found += [InvalidRecord(position, "wrong_partition", why) for position, why in self.strangers.items()]
        return sorted(found, key=lambda record: record.position)


def judged(partition: int, keys: Sequence[bytes | None], values: Sequence[bytes | None], layout: Layout) -> Judgement:
    """A record with a readable key replaces what the key had, and only takes it away if it is invalid or paused.

    One whose key cannot be read, or belongs to another partition, changes nothing.
    """
    columns = read_subscriptions(keys, values)
    expressions, errors = parse_many(columns.expressions, layout.limits)
    wrong = {place: str(error) for place, error in errors}
    return Judgement(columns, expressions, wrong, _strangers(partition, columns, layout.partitions))


def _strangers(partition: int, columns: SubscriptionColumns, partitions: int) -> dict[int, str]:
    homes = [partition_of(subscriber, partitions) for subscriber in columns.subscribers]
    away = [place for place, home in enumerate(homes) if home != partition]
    if not away:
        return {}
    told = {
        place: f"subscriptions of {columns.subscribers[place]} belong to partition {homes[place]}" for place in away
    }
    positions = np.flatnonzero(np.isin(columns.owners, away))
    return {int(position): told[int(columns.owners[position])] for position in positions}

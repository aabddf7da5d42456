"""What the reference says of records of the subscription topic, and what was said of many at once."""

from collections.abc import Sequence
from dataclasses import dataclass

from tamis.codecs.errors import RecordError
from tamis.codecs.subscription import Subscription, parsed_key
from tamis.codecs.subscription_columns import NOBODY, SubscriptionColumns
from tamis.codecs.subscription_reader import read_subscriptions

Record = tuple[bytes | None, bytes | None]
"""Key and value."""


@dataclass(frozen=True)
class Verdict:
    """On one record."""

    key: str | None
    subscription: Subscription | None = None
    refusal: tuple[str, str] | None = None


def expected(key: bytes | None, value: bytes | None) -> Verdict:
    """By the reference, one at a time."""
    if key is None:
        return Verdict(None, refusal=("bad_key", "the record has no key; that of a subscription is subscriber/name"))
    try:
        text = "/".join(parsed_key(key))
    except RecordError as error:
        return Verdict(None, refusal=(error.reason, str(error)))
    if not value:
        return Verdict(text)
    try:
        return Verdict(text, Subscription.decode(value, key))
    except RecordError as error:
        return Verdict(text, refusal=(error.reason, str(error)))


def verdicts(columns: SubscriptionColumns) -> list[Verdict]:
    found = {position: Verdict(columns.keys[position]) for position in columns.tombstones.tolist()}
    for place, position in enumerate(columns.positions.tolist()):
        subscription = Subscription(
            columns.subscribers[columns.owners[position]],
            columns.names[place],
            columns.expressions[place],
            columns.tags[place],
            bool(columns.scores[place]),
            columns.paused[place],
        )
        found[position] = Verdict(columns.keys[position], subscription)
    for one in columns.refusals:
        found[one.position] = Verdict(columns.keys[one.position], refusal=(one.reason, one.message))
    assert len(found) == len(columns.tombstones) + len(columns.positions) + len(columns.refusals)
    for key, owner in zip(columns.keys, columns.owners.tolist(), strict=True):
        assert (owner == NOBODY) if key is None else (columns.subscribers[owner] == key.partition("/")[0])
    return [found[position] for position in range(len(columns.keys))]


def check(records: Sequence[Record]) -> None:
    columns = read_subscriptions([key for key, _ in records], [value for _, value in records])
    assert verdicts(columns) == [expected(*record) for record in records]
    for column in (columns.positions, columns.tombstones, [refused.position for refused in columns.refusals]):
        assert list(column) == sorted(column)
    assert len(set(columns.subscribers)) == len(columns.subscribers)

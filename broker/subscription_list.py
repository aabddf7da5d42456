"""The subscriptions that there are, as their topic has them: the last record of a key, judged as the broker does."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import chain

from tamis.broker.configuration import Settings
from tamis.broker.json_lines import in_batches
from tamis.broker.kafka import Message, admin_client, offset_of
from tamis.broker.partitions import partition_of
from tamis.broker.positions import END, START, resolved
from tamis.broker.reading import partitions_known_to
from tamis.broker.tailing import between
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.codecs.subscription_reader import read_subscriptions
from tamis.indexes import parse_many

_PARSED_AT_ONCE = 10_000


class State(StrEnum):
    """What a record of the subscription topic comes to."""

    ACTIVE = "active"
    PAUSED = "paused"
    INVALID = "invalid"
    """It matches nothing, as if there was none."""


@dataclass(frozen=True, slots=True)
class Listed:
    """The last record of a key."""

    key: bytes | None
    partition: int
    offset: int
    timestamp: int
    """Kafka's, in milliseconds."""
    state: State
    reason: str | None
    """Why it is paused or invalid."""
    subscription: Subscription | None
    """None if it cannot be told."""

    @property
    def subscriber(self) -> str:
        """As far as the key tells."""
        return self._names()[0]

    @property
    def name(self) -> str:
        return self._names()[1]

    def _names(self) -> tuple[str, str]:
        subscriber, _, name = (self.key or b"").decode(errors="backslashreplace").partition("/")
        return subscriber, name


@dataclass(frozen=True, slots=True)
class _Record:
    key: bytes | None
    value: bytes
    offset: int
    timestamp: int


def subscriptions(
    settings: Settings, layout: Layout, subscriber: str | None = None, seconds: float = 10.0
) -> Iterator[Listed]:
    """All, or those of one subscriber, which are in one partition. In memory are those of one partition at a time."""
    topic = settings.names.subscriptions
    admin = admin_client(settings.kafka)
    every = partitions_known_to(admin, settings.kafka, topic, seconds)
    partitions = every if subscriber is None else [partition_of(subscriber, layout.partitions)]
    wanted = b"" if subscriber is None else f"{subscriber}/".encode()
    starts = resolved(admin, topic, partitions, START, seconds)
    ends = resolved(admin, topic, partitions, END, seconds)
    for partition in partitions:
        log = between(settings.kafka, topic, {partition: starts[partition]}, {partition: ends[partition]})
        for some in in_batches(_last_records(log, wanted), _PARSED_AT_ONCE):
            yield from judged(partition, some, layout)


def keys_in(settings: Settings, partition: int, seconds: float = 10.0) -> set[bytes]:
    """Those of all records of a partition that say something, be it valid or not."""
    topic = settings.names.subscriptions
    admin = admin_client(settings.kafka)
    starts, ends = (resolved(admin, topic, [partition], place, seconds) for place in (START, END))
    keys: set[bytes] = set()
    for message in chain.from_iterable(between(settings.kafka, topic, starts, ends)):
        (keys.add if message.value() else keys.discard)(message.key() or b"")
    return keys


def judged(partition: int, records: Sequence[_Record], layout: Layout) -> Iterator[Listed]:
    """What each record of a partition comes to."""
    columns = read_subscriptions([record.key for record in records], [record.value for record in records])
    wrong = {place: str(error) for place, error in parse_many(columns.expressions, layout.limits)[1]}
    refused = {refusal.position: refusal.message for refusal in columns.refusals}
    places = {position: place for place, position in enumerate(columns.positions.tolist())}
    owners = columns.owners.tolist()
    homes = [partition_of(subscriber, layout.partitions) for subscriber in columns.subscribers]
    for position, record in enumerate(records):
        place = places.get(position)
        if place is None:
            yield _listed(partition, record, State.INVALID, refused.get(position), None)
            continue
        subscription = Subscription(
            columns.subscribers[owners[place]],
            columns.names[place],
            columns.expressions[place],
            columns.tags[place],
            bool(columns.scores[place]),
            columns.paused[place],
        )
        home = homes[owners[place]]
        if home != partition:
            reason = f"subscriptions of {subscription.subscriber} belong to partition {home}"
            yield _listed(partition, record, State.INVALID, reason, subscription)
        elif place in wrong:
            yield _listed(partition, record, State.INVALID, wrong[place], subscription)
        elif subscription.paused is not None:
            yield _listed(partition, record, State.PAUSED, subscription.paused, subscription)
        else:
            yield _listed(partition, record, State.ACTIVE, None, subscription)


def _listed(
    partition: int, record: _Record, state: State, reason: str | None, subscription: Subscription | None
) -> Listed:
    return Listed(record.key, partition, record.offset, record.timestamp, state, reason, subscription)


def _last_records(log: Iterable[list[Message]], wanted: bytes) -> Iterator[_Record]:
    """Compaction lags, so a key may have several records: the last one counts, and an empty one removes the key."""
    last: dict[bytes | None, Message] = {}
    for messages in log:
        for message in messages:
            key = message.key()
            if not (key or b"").startswith(wanted):
                continue
            last.pop(key, None)  # so that what is listed is in the order of the log
            if message.value():
                last[key] = message
    for key, message in last.items():
        yield _Record(key, message.value() or b"", offset_of(message), message.timestamp()[1])

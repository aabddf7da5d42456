"""The subscriptions that there are, as their topic has them: the last record of a key, judged as the broker does."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from tamis.broker.configuration import Settings
from tamis.broker.json_lines import in_batches
from tamis.broker.kafka import Message, admin_client, offset_of, place_of
from tamis.broker.partitions import partition_of
from tamis.broker.positions import END, START, resolved
from tamis.broker.reading import partitions_known_to
from tamis.broker.tailing import between
from tamis.codecs.errors import RecordError
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription, parsed_key
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
    partition: int
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
            yield from judged(some, layout)


def subscription_of(key: bytes | None, value: bytes, partition: int, partitions: int) -> Subscription:
    """RecordError if the record changes nothing, or acts as an unsubscription. Its expression is not looked at."""
    if key is None:
        raise RecordError("bad_key", "the record has no key")
    subscriber, _ = parsed_key(key)
    home = partition_of(subscriber, partitions)
    if home != partition:
        raise RecordError("wrong_partition", f"subscriptions of {subscriber} belong to partition {home}")
    return Subscription.decode(value, key)


def judged(found: Iterable[_Record], layout: Layout) -> Iterator[Listed]:
    """What each record comes to."""
    decoded: list[tuple[_Record, Subscription | RecordError]] = []
    for record in found:
        try:
            decoded.append((record, subscription_of(record.key, record.value, record.partition, layout.partitions)))
        except RecordError as error:
            decoded.append((record, error.with_traceback(None)))
    texts = [subscription.expression for _, subscription in decoded if isinstance(subscription, Subscription)]
    wrong = dict(parse_many(texts, layout.limits)[1])
    place = 0
    for record, subscription in decoded:
        if isinstance(subscription, RecordError):
            yield _listed(record, State.INVALID, str(subscription), None)
            continue
        refusal = wrong.get(place)
        place += 1
        if refusal is not None:
            yield _listed(record, State.INVALID, str(refusal), subscription)
        elif subscription.paused is not None:
            yield _listed(record, State.PAUSED, subscription.paused, subscription)
        else:
            yield _listed(record, State.ACTIVE, None, subscription)


def _listed(record: _Record, state: State, reason: str | None, subscription: Subscription | None) -> Listed:
    return Listed(record.key, record.partition, record.offset, record.timestamp, state, reason, subscription)


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
        yield _Record(key, message.value() or b"", place_of(message)[1], offset_of(message), message.timestamp()[1])

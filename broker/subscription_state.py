"""What is in force: every subscription of a shard in an index, and beside it whom its matches concern.

The state is a function of the records applied and of the layout's limits, and of nothing else: not of the order in
which partitions came, nor of how records were cut into batches.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np

from tamis.broker.names import Names
from tamis.broker.partitions import partition_of
from tamis.codecs.errors import RecordError
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription, parsed_key
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import create, parse_many
from tamis.indexes.columnar import Expressions
from tamis.indexes.expressions import Expression
from tamis.indexes.vocabulary import Vocabulary


@dataclass(frozen=True, slots=True)
class InvalidRecord:
    """A record of the subscription topic that is no subscription: at which position of those given, and why."""

    position: int
    reason: str
    detail: str


@dataclass(frozen=True, slots=True)
class Change:
    """What a record with a readable key does: it puts a subscription, or, without one, takes it away."""

    key: str
    subscription: Subscription | None


class SubscriptionState:
    """The subscriptions of one shard. An id in the index is the id of its key in a vocabulary, so ids stay dense."""

    def __init__(
        self,
        layout: Layout,
        names: Names,
        engine: str,
        notification_format: NotificationFormat = NotificationFormat.AVRO,
    ) -> None:
        self.index = create(engine)
        self.table = SubscriptionTable(notification_format)
        self._limits = layout.limits
        self._partitions = layout.partitions
        self._names = names
        self._keys = Vocabulary()
        self._subscribers = Vocabulary()
        self._topics: dict[int, str] = {}
        self._scored: set[int] = set()

    def __len__(self) -> int:
        return len(self.index)

    @property
    def tells_scores(self) -> bool:
        """Whether any of them asks for scores."""
        return bool(self._scored)

    def topic(self, subscriber: int) -> str:
        """Where the notifications of a subscriber go that has this number."""
        topic = self._topics.get(subscriber)
        if topic is None:
            topic = self._topics[subscriber] = self._names.notifications(self._subscribers.text(subscriber))
        return topic

    def subscriber(self, number: int) -> str:
        return self._subscribers.text(number)

    def memory_bytes(self) -> Mapping[str, int]:
        """Beside the index."""
        return {
            "keys": self._keys.memory_bytes(),
            "subscribers": self._subscribers.memory_bytes(),
            "texts": self.table.memory_bytes(),
        }

    def apply(
        self, partition: int, keys: Sequence[bytes | None], values: Sequence[bytes | None]
    ) -> list[InvalidRecord]:
        """Apply records of a partition in their order; those that are invalid are returned.

        A record with a readable key replaces what the key had, and takes it away if it is invalid, paused or empty. One
        whose key cannot be read, or belongs to another partition, changes nothing.
        """
        changes: list[tuple[int, Change]] = []
        invalid: list[InvalidRecord] = []
        for position, (key, value) in enumerate(zip(keys, values, strict=True)):
            try:
                changes.append((position, self._change(partition, key, value, position, invalid)))
            except RecordError as error:
                invalid.append(InvalidRecord(position, error.reason, str(error)))
        self._apply_changes(changes, invalid)
        invalid.sort(key=lambda record: record.position)
        return invalid

    def _change(
        self, partition: int, key: bytes | None, value: bytes | None, position: int, invalid: list[InvalidRecord]
    ) -> Change:
        if key is None:
            raise RecordError("bad_key", "the record has no key")
        subscriber, name = parsed_key(key)
        home = partition_of(subscriber, self._partitions)
        if home != partition:
            raise RecordError("wrong_partition", f"subscriptions of {subscriber} belong to partition {home}")
        text = f"{subscriber}/{name}"
        if not value:
            return Change(text, None)
        try:
            subscription = Subscription.decode(value, key)
        except RecordError as error:
            invalid.append(InvalidRecord(position, error.reason, str(error)))
            return Change(text, None)
        return Change(text, subscription)

    def _apply_changes(self, changes: Sequence[tuple[int, Change]], invalid: list[InvalidRecord]) -> None:
        """The last change of a key decides; all are looked at, so that none that is wrong goes untold."""
        texts = [(position, change.subscription) for position, change in changes if change.subscription]
        expressions, errors = parse_many([subscription.expression for _, subscription in texts], self._limits)
        wrong = dict(errors)
        invalid += [InvalidRecord(texts[place][0], "bad_expression", str(error)) for place, error in errors]
        good = [position for place, (position, _) in enumerate(texts) if place not in wrong]
        places = {position: place for place, position in enumerate(good)}
        last = {change.key: (position, change.subscription) for position, change in changes}
        puts: list[tuple[int, str, Subscription]] = []
        for key, (position, subscription) in last.items():
            if subscription is None or subscription.paused is not None or position not in places:
                self._delete(key)
            else:
                puts.append((places[position], key, subscription))
        puts.sort(key=itemgetter(0))
        whole = len(puts) == len(expressions)
        self._put(puts, expressions if whole else [expressions[place] for place, _, _ in puts])

    def _put(
        self, puts: Sequence[tuple[int, str, Subscription]], expressions: Expressions | Sequence[Expression]
    ) -> None:
        ids = np.fromiter((self._id(key, subscription) for _, key, subscription in puts), np.uint32, len(puts))
        self.index.insert_many(ids, expressions)
        for number, (_, _, subscription) in zip(ids.tolist(), puts, strict=True):
            subscriber = self._subscribers.find(subscription.subscriber)
            assert subscriber is not None
            self.table.put(number, subscriber, subscription.name, subscription.tags, subscription.scores)
            (self._scored.add if subscription.scores else self._scored.discard)(number)

    def _id(self, key: str, subscription: Subscription) -> int:
        known = self._keys.find(key)
        if known is not None:
            return known
        self._subscribers.intern(subscription.subscriber)
        return self._keys.intern(key)

    def _delete(self, key: str) -> None:
        known = self._keys.find(key)
        if known is None:
            return
        self.index.delete(known)
        subscriber = self.table.subscriber(known)
        self.table.delete(known)
        self._scored.discard(known)
        self._keys.release(known)
        if self._subscribers.references(subscriber) == 1:
            self._topics.pop(subscriber, None)
        self._subscribers.release(subscriber)

"""What is in force: every subscription of a shard in an index, and beside it whom its matches concern.

The state is a function of the records applied and of the layout's limits, and of nothing else: not of the order in
which partitions came, nor of how records were cut into batches.
"""

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from tamis.broker.judgement import InvalidRecord, Judgement, judged
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.subscription_columns import SubscriptionColumns
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import create
from tamis.indexes.columnar import Expressions
from tamis.indexes.expressions import Expression
from tamis.indexes.vocabulary import Vocabulary


class SubscriptionState:
    """The subscriptions of one shard. An id in the index is the id of its key in a vocabulary, so ids stay dense."""

    def __init__(
        self,
        layout: Layout,
        engine: str,
        notification_format: NotificationFormat = NotificationFormat.AVRO,
    ) -> None:
        self.index = create(engine)
        self.table = SubscriptionTable(notification_format)
        self._layout = layout
        self._keys = Vocabulary()
        self._subscribers = Vocabulary()
        self._scored: set[int] = set()
        self._subscriber_names: list[bytes] = []

    def __len__(self) -> int:
        return len(self.index)

    @property
    def tells_scores(self) -> bool:
        """Whether any of them asks for scores."""
        return bool(self._scored)

    def subscriber_names(self, numbers: Iterable[int]) -> list[bytes]:
        """A list in which each of these subscribers' names is at its number; others may be missing."""
        names = self._subscriber_names
        names.extend([b""] * (self._subscribers.id_bound - len(names)))
        for number in numbers:
            if not names[number]:
                names[number] = self._subscribers.text(number).encode()
        return names

    def key(self, id: int) -> str:
        """`subscriber/name` of what has an id in the index."""
        return self._keys.text(id)

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
        judgement = judged(partition, keys, values, self._layout)
        self._apply(judgement)
        return judgement.invalid()

    def _apply(self, judgement: Judgement) -> None:
        """The last record of a key decides; the earlier ones were looked at, so that none that is wrong goes untold."""
        columns, expressions = judgement.columns, judgement.expressions
        last = {key: position for position, key in judgement.replaced()}
        # Of those that say a subscription: at which place of the columns, and of the valid expressions.
        places: list[int] = []
        parsed: list[int] = []
        for position, place, among_valid in judgement.in_force():
            key = columns.keys[position]
            if key is not None and last.get(key) == position:
                places.append(place)
                parsed.append(among_valid)
                del last[key]
        for key in last:
            self._delete(key)
        if places:
            whole = len(parsed) == len(expressions)
            self._put(columns, places, expressions if whole else [expressions[place] for place in parsed])

    def _put(
        self, columns: SubscriptionColumns, places: list[int], expressions: Expressions | Sequence[Expression]
    ) -> None:
        positions = columns.positions[places]
        owners = columns.owners[positions]
        numbers = {int(owner): self._subscribers.intern(columns.subscribers[owner]) for owner in np.unique(owners)}
        try:
            ids = np.empty(len(places), np.uint32)
            for place, (position, owner) in enumerate(zip(positions.tolist(), owners.tolist(), strict=True)):
                key = columns.keys[position]
                assert key is not None
                ids[place] = self._id(key, numbers[owner])
            self.index.insert_many(ids, expressions)
        finally:
            for number in numbers.values():
                self._subscribers.release(number)
        scores = columns.scores[places]
        self.table.put_many(
            ids,
            np.array([numbers[owner] for owner in owners.tolist()], np.uint32),
            [columns.names[place] for place in places],
            [columns.tags[place] for place in places],
            scores,
        )
        self._scored.update(ids[scores].tolist())
        if self._scored:
            self._scored.difference_update(ids[~scores].tolist())

    def _id(self, key: str, subscriber: int) -> int:
        known = self._keys.find(key)
        if known is None:
            self._subscribers.retain(subscriber)
            known = self._keys.intern(key)
        return known

    def _delete(self, key: str) -> None:
        known = self._keys.find(key)
        if known is None:
            return
        self.index.delete(known)
        subscriber = self.table.subscriber(known)
        self.table.delete(known)
        self._scored.discard(known)
        self._keys.release(known)
        if self._subscribers.references(subscriber) == 1 and subscriber < len(self._subscriber_names):
            self._subscriber_names[subscriber] = b""
        self._subscribers.release(subscriber)

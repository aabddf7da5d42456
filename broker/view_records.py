"""Which views are told: those that are new for a partition, and the old ones now and then."""

import time
from collections.abc import Iterator, Mapping

from tamis.broker.event_source import Place
from tamis.codecs.layout import Layout
from tamis.codecs.view import View, ViewRecord

_VALID_SECONDS = 600.0


class ViewRecords:
    """Remembers what was told of the partitions that this process has."""

    def __init__(self, layout: Layout, shard: int, subscriptions: str) -> None:
        self._layout = layout
        self._shard = shard
        self._subscriptions_id = layout.topics[subscriptions]
        self._told: dict[Place, tuple[View, float]] = {}

    def forget(self) -> None:
        """What was told may not have been committed, or by somebody else since: tell everything again."""
        self._told.clear()

    def wanted(self, firsts: Mapping[Place, tuple[int, str]], view: View) -> Iterator[ViewRecord]:
        """Of partitions whose events from an offset on were matched at a view: those that must be told.

        Beside the offset stands the subscriber up to whom the notifications of that event went out before.
        """
        now = time.monotonic()
        for (topic, partition), (offset, after) in firsts.items():
            known, since = self._told.get((topic, partition), (None, 0.0))
            if known == view and now - since < _VALID_SECONDS:
                continue
            self._told[topic, partition] = view, now
            yield ViewRecord(
                self._shard,
                topic,
                self._layout.topics[topic],
                partition,
                offset,
                self._layout.rules,
                self._subscriptions_id,
                view,
                after,
            )

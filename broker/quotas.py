"""How many subscriptions a subscriber may have: looked after by whoever subscribes.

Brokers take all that is in the log. So this keeps a program that runs wild from filling it, and not somebody who may
write to the log by other means; of two who subscribe for one subscriber at once, neither sees what the other one adds.
"""

from collections import Counter

from tamis.broker.configuration import Settings
from tamis.broker.partitions import partition_of
from tamis.broker.subscription_list import keys_in
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription


class Quota:
    """Reads a partition of the log when the first subscriber in it is asked about, and none if there is no limit."""

    def __init__(self, settings: Settings, layout: Layout) -> None:
        self._settings = settings
        self._layout = layout
        self._most = settings.subscriptions.per_subscriber
        self._keys: dict[int, set[bytes]] = {}
        self._counts: Counter[str] = Counter()

    def refusal(self, subscription: Subscription) -> str | None:
        """Why it cannot be taken; None if it can, and then it is counted. One that replaces another is no one more."""
        if self._most is None:
            return None
        owner, key = subscription.subscriber, subscription.key
        keys = self._keys_of(partition_of(owner, self._layout.partitions))
        if key in keys:
            return None
        if self._counts[owner] >= self._most:
            return f"{owner} may have {self._most} subscriptions (subscriptions.per_subscriber), and has them"
        keys.add(key)
        self._counts[owner] += 1
        return None

    def _keys_of(self, partition: int) -> set[bytes]:
        keys = self._keys.get(partition)
        if keys is None:
            keys = self._keys[partition] = keys_in(self._settings, partition)
            self._counts.update(key.partition(b"/")[0].decode(errors="replace") for key in keys)
        return keys

"""Subscriptions that processes die of: taken out of force by records in the log, so that every process agrees.

Who died of one twice leaves it out, and writes it once more, paused. Until that record is applied it matches nothing,
so there is no view at which it has left out what others have in force. What it dies of though it is paused, it takes
away by an empty record.
"""

import logging
from collections.abc import Iterable
from dataclasses import replace

from tamis.broker.configuration import Settings
from tamis.broker.delivery import Deliveries
from tamis.broker.errors import InvalidError
from tamis.codecs.errors import RecordError
from tamis.codecs.subscription import Subscription

WHY = "broker processes died of it"
_LOG = logging.getLogger(__name__)


class Quarantine:
    """Those that are left out, and have no record yet that says so."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._waiting: dict[tuple[int, bytes], bytes | None] = {}

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, partition: int, key: bytes | None, value: bytes | None) -> None:
        """A record without a key puts nothing in force, and needs no other."""
        if key is not None:
            self._waiting[partition, key] = value

    def replaced(self, partition: int, keys: Iterable[bytes | None]) -> None:
        """Records of these keys came: they say what is in force now."""
        if self._waiting:
            for key in keys:
                self._waiting.pop((partition, key or b""), None)

    def impose(self) -> None:
        """Write what is to be in their place; it is in the log when this returns. UnreachableError if it is not."""
        topic = self._settings.names.subscriptions
        with Deliveries(self._settings.kafka, topic, _refused) as deliveries:
            for (partition, key), value in self._waiting.items():
                paused = _paused(value)
                done = "is taken away" if paused is None else "is paused"
                _LOG.error("%s %s: %s", key.decode(errors="backslashreplace"), done, WHY)
                deliveries.send(0, paused, key, partition)
            deliveries.wait()


def _paused(value: bytes | None) -> bytes | None:
    """None if it is paused already, or no subscription."""
    try:
        subscription = Subscription.decode(value or b"")
    except RecordError:
        return None
    return None if subscription.paused is not None else replace(subscription, paused=WHY).encode()


def _refused(_line: int, why: str) -> None:
    raise InvalidError(f"A subscription that processes die of cannot be paused: {why}")

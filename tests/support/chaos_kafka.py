"""Kafka's own brokers, killed and frozen one at a time: the next one not before all replicas are in sync again."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from tamis.admin.local import LocalStack, StackError
from tamis.admin.local.kafka import KafkaBroker
from tamis.broker.kafka import KafkaException, admin_client

_LOST = "Failed to load metadata from __consumer_offsets"
Later = Callable[[float, Callable[[], None]], None]
"""Is given in how many seconds something is to be done."""
_AWAY_SECONDS = 4.0
_PAUSES = (0.3, 2.0, 5.0)
_CHECK_SECONDS = 0.5
_CALL_SECONDS = 1.0


def lost_groups(stack: LocalStack) -> str:
    """What Kafka's log says if it could not read its own log of groups and offsets again; empty if it could.

    Kafka 4.3.1 sometimes could not after it was killed, and 4.2.2 always could so far: such a one answers no member of
    any group, until somebody mends that log. Nothing that is built on it can go on.
    """
    for log in sorted((stack.folder / "logs").glob("*.log")):
        for line in log.read_text(errors="replace").splitlines():
            if _LOST in line:
                return line[line.index(_LOST) :][:300]
    return ""


@dataclass
class KafkaFaults:
    stack: LocalStack
    topic: str
    """Whose leader is as likely to be met as all others together."""
    chance: random.Random
    later: Later

    def __post_init__(self) -> None:
        self._admin = admin_client(self.stack.settings.kafka)
        self._is_whole = True
        self._checked_at = 0.0

    def require_running(self) -> None:
        """Raise if one has ended that nobody ended here."""
        if self._is_whole and time.monotonic() > self._checked_at + _CHECK_SECONDS:
            self._checked_at = time.monotonic()
            self.stack.require_running()

    def kill(self) -> bool:
        """One of several, as a crash would; a bit later it is back. One alone may lose its groups by that."""
        broker = self._chosen() if len(self.stack.brokers) > 1 else None
        if broker is None:
            return False
        broker.kill()
        self.later(self.chance.uniform(0.0, _AWAY_SECONDS), lambda: self._bring_back(broker.start))
        return True

    def restart(self) -> bool:
        """One of them, in order, as an operator would, who does not wait for ever."""
        broker = self._chosen()
        if broker is None:
            return False
        try:
            broker.stop()
        except StackError:
            broker.kill()
        self.later(self.chance.uniform(0.0, _AWAY_SECONDS), lambda: self._bring_back(broker.start))
        return True

    def pause(self) -> bool:
        """One of them: its connections stay open, and nobody answers."""
        broker = self._chosen()
        if broker is None:
            return False
        broker.pause()
        self.later(self.chance.choice(_PAUSES), lambda: self._bring_back(broker.resume))
        return True

    def _chosen(self) -> KafkaBroker | None:
        if not self._is_whole:
            return None
        leader = self._leader() if self.chance.random() < 0.5 else None
        self._is_whole = False
        found = [broker for broker in self.stack.brokers if broker.node.number == leader]
        return found[0] if found else self.chance.choice(self.stack.brokers)

    def _bring_back(self, how: Callable[[], None]) -> None:
        how()
        self.later(_CHECK_SECONDS, self._look)

    def _look(self) -> None:
        self._is_whole = self._is_in_sync()
        if not self._is_whole:
            self.later(_CHECK_SECONDS, self._look)

    def _is_in_sync(self) -> bool:
        try:
            found = self._admin.list_topics(timeout=_CALL_SECONDS)
        except KafkaException:
            return False
        partitions = [part for topic in found.topics.values() for part in topic.partitions.values()]
        return len(found.brokers) == len(self.stack.brokers) and all(
            part.leader >= 0 and len(part.isrs) == len(part.replicas) for part in partitions
        )

    def _leader(self) -> int:
        """Of the topic's first partition; below zero if nobody tells."""
        try:
            return self._admin.list_topics(self.topic, timeout=_CALL_SECONDS).topics[self.topic].partitions[0].leader
        except (KafkaException, KeyError):
            return -1

"""What Kafka tells whoever looks on from beside the worker: where partitions end, who owns them, what stands still.

It has a client of its own, made when it is first asked, and waits for two seconds at most: a broker whose Kafka is away
is asked for its metrics more than ever.
"""

import threading
import time
from collections.abc import Callable, Mapping
from typing import TypeVar

from tamis.broker.configuration import Settings
from tamis.broker.kafka import AdminClient, KafkaException, admin_client
from tamis.broker.lag_ends import Place, log_ends, owners, places_of
from tamis.broker.metrics import Meters
from tamis.broker.topic_facts import topic_facts
from tamis.codecs.layout import Layout

Answer = TypeVar("Answer")
_SECONDS = 2.0
_FRESH_SECONDS = 1.0
"""Whoever asks again sooner is given the same answer."""


class HealthFacts:
    """Answers may be asked for by several threads, one of which asks Kafka."""

    def __init__(self, settings: Settings, meters: Meters) -> None:
        self._settings = settings
        self._meters = meters
        self._lock = threading.Lock()
        self._client: AdminClient | None = None
        self._answers: dict[str, tuple[float, object]] = {}
        self.errors = 0
        """How often Kafka did not answer."""

    def ends(self) -> Mapping[Place, int]:
        """Of all event partitions; empty if it cannot be told."""
        if self._meters.layout is None:
            return {}
        return self._asked("ends", self._ends, {})

    def all_are_assigned(self) -> bool:
        """Whether each event partition is some member's: then one that has none stands by."""
        return self._asked("owners", self._all_are_assigned, default=False)

    def obstacles(self) -> list[str]:
        """What keeps the subscriptions from being read to their end."""
        return self._asked("obstacles", self._obstacles, [])

    def _asked(self, name: str, ask: Callable[[], Answer], default: Answer) -> Answer:
        with self._lock:
            at, answer = self._answers.get(name, (0.0, default))
            if time.monotonic() - at > _FRESH_SECONDS:
                try:
                    answer = ask()
                except KafkaException:
                    self.errors += 1
                    answer = default
                self._answers[name] = (time.monotonic(), answer)
        return answer  # type: ignore[return-value]  # what is kept under a name is what its question gives

    @property
    def _admin(self) -> AdminClient:
        if self._client is None:
            self._client = admin_client(self._settings.kafka)
        return self._client

    def _topics(self, layout: Layout | None) -> list[str]:
        subscriptions = self._settings.names.subscriptions
        return [] if layout is None else sorted(topic for topic in layout.topics if topic != subscriptions)

    def _ends(self) -> Mapping[Place, int]:
        places = places_of(self._admin, self._topics(self._meters.layout), _SECONDS)
        return log_ends(self._admin, places, _SECONDS)

    def _all_are_assigned(self) -> bool:
        layout = self._meters.layout
        if layout is None:
            return False
        group = self._settings.names.group(layout.number, self._meters.shard)
        owned = owners(self._admin, [group], _SECONDS)[group]
        return set(places_of(self._admin, self._topics(layout), _SECONDS)) <= owned.keys()

    def _obstacles(self) -> list[str]:
        topic = self._settings.names.subscriptions
        facts = topic_facts(self._admin, [topic]).get(topic)
        if facts is None:
            return [f"{topic} is not there"]
        found = [f"{topic} [{partition}] has no leader" for partition in facts.leaderless]
        places = [(topic, number) for number in range(facts.partitions) if number not in facts.leaderless]
        ends = log_ends(self._admin, places, _SECONDS)
        for place, end in log_ends(self._admin, places, _SECONDS, committed=True).items():
            if end < ends.get(place, end):
                found.append(
                    f"a transaction is open in {topic} [{place[1]}]: {ends[place] - end} offsets wait behind {end}"
                )
        return found

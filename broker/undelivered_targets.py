"""Where notifications that wait would go: which topics are there, may be written to, and how much they take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.kafka import REFUSED, TIMED_OUT, KafkaError, admin_client
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.obstacles import obstacles
from tamis.broker.topic_facts import awaited_facts, topic_facts
from tamis.broker.transactions import is_forbidden
from tamis.codecs.undelivered import Obstacle

_AT_ONCE = 500
_BATCH_BYTES = 1_048_588
"""Kafka's own bound where nobody sets another: no batch that the client makes of several records exceeds it."""
_DETAILS = {
    Obstacle.MISSING: "there is no topic {}",
    Obstacle.FORBIDDEN: "this user may not write to {}",
}
_TOLD_BY_SENDING = frozenset({Obstacle.REFUSED, Obstacle.UNAVAILABLE})
_IMPAIRED = "{} has no leader, or a replica is behind"


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a notification cannot be sent just now."""

    reason: str
    """One word."""
    detail: str


@dataclass(frozen=True, slots=True)
class Target:
    """A topic that can be written to."""

    topic: str
    partitions: int
    bytes_max: int | None
    """Of a batch of records, after compression. None if we may not see it."""

    def takes(self, size: int) -> bool:
        """Whether a record of so many bytes surely fits. Of others only Kafka can tell: it counts them compressed."""
        return self.bytes_max is None or size <= self.bytes_max

    def takes_together(self, size: int) -> bool:
        """Whether records of so many bytes do, however the client cuts them into batches."""
        return self.bytes_max is None or size <= self.bytes_max or self.bytes_max >= _BATCH_BYTES


class Targets:
    """The topics of subscribers, each looked at once, until there is a reason to look again."""

    def __init__(self, settings: Settings, *, make_missing: bool = False, only_tell: bool = False) -> None:
        """`make_missing` topics are made; if this is `only_tell`, what would be made counts as there."""
        self._settings = settings
        self._makes = make_missing
        self._only_tells = only_tell
        self._admin = admin_client(settings.kafka)
        self._known: dict[str, Target | Hindrance] = {}
        self._impaired: set[str] = set()
        """Those whose topics lacked a leader or a replica when they were looked at."""
        self._bounds: dict[str, int] = {}
        """Bytes, as far as they were found out."""
        self.made: list[str] = []
        """The topics that were missing, or that would be made."""

    def look_at(self, subscribers: Iterable[str]) -> None:
        """Learn what is not known of them."""
        unknown = [subscriber for subscriber in dict.fromkeys(subscribers) if subscriber not in self._known]
        for start in range(0, len(unknown), _AT_ONCE):
            some = unknown[start : start + _AT_ONCE]
            self._look_at(some)
            missing = [one for one in some if _is_missing(self._known[one])]
            if self._makes and missing:
                self._make(missing)

    def of(self, subscriber: str) -> Target | Hindrance:
        """KeyError if it was not looked at."""
        return self._known[subscriber]

    def learn(self, subscriber: str, error: KafkaError) -> bool:
        """What Kafka said to a record that was sent there. False if it is not plain: then it is looked at once more.

        That a sound topic took nothing in time says that Kafka is slow just now, and nothing of the topic.
        """
        self._known.pop(subscriber, None)
        if is_forbidden(error):
            self._known[subscriber] = Hindrance(Obstacle.FORBIDDEN, error.str())
        elif error.code() in REFUSED:
            self._known[subscriber] = Hindrance(Obstacle.REFUSED, error.str())
        elif error.code() in TIMED_OUT and subscriber in self._impaired:
            topic = self._settings.names.notifications(subscriber)
            self._known[subscriber] = Hindrance(Obstacle.UNAVAILABLE, f"{_IMPAIRED.format(topic)}: {error.str()}")
        return subscriber in self._known

    def narrow(self, subscriber: str, size: int) -> None:
        """So many bytes together were too large, and nobody told how many are not."""
        self._bounds[subscriber] = min(size // 2, _BATCH_BYTES - 1)
        self._known.pop(subscriber, None)

    def forget(self) -> None:
        """All is to be looked at again, but for what only sending tells: that would fail in the same way."""
        self._known = {
            subscriber: known
            for subscriber, known in self._known.items()
            if isinstance(known, Hindrance) and known.reason in _TOLD_BY_SENDING
        }

    def _look_at(self, subscribers: Sequence[str]) -> None:
        topics = {self._settings.names.notifications(subscriber): subscriber for subscriber in subscribers}
        found = obstacles(self._admin, topics)
        self._impaired.difference_update(subscribers)
        self._impaired |= {topics[topic] for topic, obstacle in found.items() if obstacle is Obstacle.UNAVAILABLE}
        hindrances = {
            topic: Hindrance(obstacle, _DETAILS[obstacle].format(topic))
            for topic, obstacle in found.items()
            if obstacle is not Obstacle.UNAVAILABLE  # a replica that is behind hinders nobody; else sending tells
        }
        facts = topic_facts(self._admin, [topic for topic in topics if topic not in hindrances])
        for topic, subscriber in topics.items():
            if topic in facts and topic not in hindrances:
                told = (facts[topic].config or {}).get("max.message.bytes")
                bounds = [bound for bound in (self._bounds.get(subscriber), told) if bound is not None]
                self._known[subscriber] = Target(topic, facts[topic].partitions, min(map(int, bounds), default=None))
            else:
                self._known[subscriber] = hindrances.get(topic) or Hindrance(
                    Obstacle.MISSING, _DETAILS[Obstacle.MISSING].format(topic)
                )

    def _make(self, subscribers: Sequence[str]) -> None:
        topics = [self._settings.names.notifications(subscriber) for subscriber in subscribers]
        if self._only_tells:
            self.made += topics
            partitions = self._settings.notifications.partitions
            self._known.update(zip(subscribers, (Target(topic, partitions, None) for topic in topics), strict=True))
            return
        self.made += ensure_notification_topics(self._admin, self._settings, subscribers)
        awaited_facts(self._admin, topics)
        self._look_at(subscribers)


def _is_missing(known: Target | Hindrance) -> bool:
    return isinstance(known, Hindrance) and known.reason == Obstacle.MISSING

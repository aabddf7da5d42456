"""Where notifications that wait would go: which topics are there, may be written to, and how much they take."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.kafka import TOPIC_FORBIDDEN as FORBIDDEN_IN_KAFKA
from tamis.broker.kafka import AclOperation, AdminClient, KafkaError, KafkaException, TopicCollection, admin_client
from tamis.broker.notification_topics import ensure_notification_topics
from tamis.broker.outlets import Outlet
from tamis.broker.topic_facts import awaited_facts, topic_facts
from tamis.codecs.undelivered import TOPIC_FORBIDDEN, TOPIC_MISSING

_AT_ONCE = 500
_SECONDS = 15.0
_BATCH_BYTES = 1_048_588
"""Kafka's own bound where nobody sets another: no batch that the client makes of several records exceeds it."""
_GONE = frozenset({KafkaError.UNKNOWN_TOPIC_OR_PART, KafkaError.UNKNOWN_TOPIC_ID, KafkaError._UNKNOWN_TOPIC})  # noqa: SLF001
_UNWILLING = frozenset(
    {
        *(KafkaError.INVALID_RECORD, KafkaError.POLICY_VIOLATION, KafkaError.INVALID_TIMESTAMP),
        *(KafkaError.TOPIC_EXCEPTION, KafkaError.UNSUPPORTED_FOR_MESSAGE_FORMAT),
    }
)
"""What a topic says that has settings of its own; trying again does not help."""


@dataclass(frozen=True, slots=True)
class Hindrance:
    """Why a notification cannot be sent just now."""

    reason: str
    """One word."""
    detail: str


@dataclass(frozen=True, slots=True)
class Target:
    """A topic that can be written to."""

    outlet: Outlet
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
        """What Kafka said to a record that was sent there. False if it is not plain: then it is looked at once more."""
        self._known.pop(subscriber, None)
        hindrance = _hindrance(self._settings.names.notifications(subscriber), error)
        if hindrance is None and error.code() in _UNWILLING:
            hindrance = Hindrance(error.name().lower(), error.str())
        if hindrance is not None:
            self._known[subscriber] = hindrance
        return hindrance is not None

    def narrow(self, subscriber: str, size: int) -> None:
        """So many bytes together were too large, and nobody told how many are not."""
        self._bounds[subscriber] = min(size // 2, _BATCH_BYTES - 1)
        self._known.pop(subscriber, None)

    def forget(self) -> None:
        """All is to be looked at again."""
        self._known.clear()

    def _look_at(self, subscribers: Sequence[str]) -> None:
        topics = {self._settings.names.notifications(subscriber): subscriber for subscriber in subscribers}
        hindrances = _hindrances(self._admin, list(topics))
        facts = topic_facts(self._admin, [topic for topic in topics if topic not in hindrances])
        for topic, subscriber in topics.items():
            if topic in facts:
                told = (facts[topic].config or {}).get("max.message.bytes")
                bounds = [bound for bound in (self._bounds.get(subscriber), told) if bound is not None]
                outlet = Outlet(topic, facts[topic].partitions)
                self._known[subscriber] = Target(outlet, min(map(int, bounds), default=None))
            else:
                self._known[subscriber] = hindrances.get(topic) or _missing(topic)

    def _make(self, subscribers: Sequence[str]) -> None:
        topics = [self._settings.names.notifications(subscriber) for subscriber in subscribers]
        if self._only_tells:
            self.made += topics
            partitions = self._settings.notifications.partitions
            outlets = (Outlet(topic, partitions) for topic in topics)
            self._known.update(zip(subscribers, (Target(outlet, None) for outlet in outlets), strict=True))
            return
        self.made += ensure_notification_topics(self._admin, self._settings, subscribers)
        awaited_facts(self._admin, topics)
        self._look_at(subscribers)


def _hindrances(admin: AdminClient, topics: list[str]) -> dict[str, Hindrance]:
    """Of those topics that cannot be written to."""
    found: dict[str, Hindrance] = {}
    wanted = TopicCollection(topics)
    for topic, future in admin.describe_topics(
        wanted, include_authorized_operations=True, request_timeout=_SECONDS
    ).items():
        try:
            allowed = future.result().authorized_operations
        except KafkaException as error:
            hindrance = _hindrance(topic, error.args[0])
            if hindrance is None:
                raise
            found[topic] = hindrance
        else:
            if allowed is not None and AclOperation.WRITE not in allowed:
                found[topic] = Hindrance(TOPIC_FORBIDDEN, f"this user may not write to {topic}")
    return found


def _hindrance(topic: str, error: KafkaError) -> Hindrance | None:
    """None if the error is not about this topic."""
    if error.code() in _GONE:
        return _missing(topic)
    if error.code() in FORBIDDEN_IN_KAFKA:
        return Hindrance(TOPIC_FORBIDDEN, f"{topic}: {error.str()}")
    return None


def _missing(topic: str) -> Hindrance:
    return Hindrance(TOPIC_MISSING, f"there is no topic {topic}")


def _is_missing(known: Target | Hindrance) -> bool:
    return isinstance(known, Hindrance) and known.reason == TOPIC_MISSING

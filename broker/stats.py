"""What a Tamis has and does, in numbers: `tamis stats`."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from tamis.broker.configuration import Settings
from tamis.broker.kafka import Message, headers_of
from tamis.broker.layouts import require_layout
from tamis.broker.settling import committed, settled_by
from tamis.broker.subscription_list import State, subscriptions
from tamis.broker.topic_list import ListedTopic, list_topics
from tamis.codecs.errors import RecordError
from tamis.codecs.headers import Rejection
from tamis.codecs.undelivered import Undelivered
from tamis.codecs.view import ViewRecord

UNREADABLE = "unreadable"


@dataclass(slots=True)
class Statistics:
    """From Kafka alone: what its topics hold now."""

    states: Counter[State] = field(default_factory=Counter)
    subscribers: Counter[str] = field(default_factory=Counter)
    """How many subscriptions each has, whatever their state."""
    topics: list[ListedTopic] = field(default_factory=list)
    rejected: Counter[str] = field(default_factory=Counter)
    """By reason."""
    undelivered: Counter[str] = field(default_factory=Counter)
    """By reason."""
    views: Counter[str] = field(default_factory=Counter)
    """By the event topic that they are about."""


def statistics(
    settings: Settings, seconds: float = 10.0, tell: Callable[[int], None] = lambda _records: None
) -> Statistics:
    """From the topics of subscriptions, rejections, undelivered notifications and views; `tell` counts records."""
    layout = require_layout(settings, seconds)
    found = Statistics(topics=list_topics(settings))
    for listed in subscriptions(settings, layout, seconds=seconds):
        found.states[listed.state] += 1
        found.subscribers[listed.subscriber] += 1
        tell(1)
    names = settings.names
    there = {listed.facts.name for listed in found.topics}
    for topic, counts, reason in (
        (names.rejected, found.rejected, _of_rejection),
        (names.undelivered, found.undelivered, _of_undelivered),
        (names.views, found.views, _of_view),
    ):
        if topic in there:
            for records in committed(settings.kafka, topic, seconds).messages():
                counts.update(reason(record) for record in records if settled_by(record) is None)
                tell(len(records))
    return found


def _of_rejection(message: Message) -> str:
    try:
        return Rejection.parse(headers_of(message)).reason
    except RecordError:
        return UNREADABLE


def _of_undelivered(message: Message) -> str:
    try:
        return Undelivered.decode(message.value() or b"").reason
    except RecordError:
        return UNREADABLE


def _of_view(message: Message) -> str:
    try:
        return ViewRecord.decode(message.value() or b"").topic
    except RecordError:
        return UNREADABLE


def summed(brokers: Iterable[Mapping[str, float]]) -> dict[str, float]:
    """Of several processes' metrics, by name and labels. What all of a shard have alike is not added up."""
    totals: dict[str, float] = {}
    for samples in brokers:
        for name, value in samples.items():
            is_shared = name.startswith(("tamis_subscriptions{", "tamis_partitions{", "tamis_subscribers_suspended"))
            totals[name] = max(totals.get(name, value), value) if is_shared else totals.get(name, 0.0) + value
    return totals

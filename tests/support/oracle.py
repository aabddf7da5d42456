"""What should have come of events and subscriptions: by `Expression.evaluate`, at the views that were told.

It shares no code with the broker beyond the formats. What is in force at a view is computed from the log of
subscriptions, record by record; which view an event has, from the view records.
"""

from bisect import bisect_right
from collections import Counter
from dataclasses import dataclass, field

from broker_cluster import Cluster, Seen
from tamis.codecs.errors import RecordError
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import View, ViewRecord
from tamis.indexes import Expression, ExpressionError, parse

Delivery = tuple[str, int, int]
"""Subscriber, and the partition and offset of the event."""


@dataclass
class Findings:
    """How what was delivered differs from what should have been."""

    expected: int = 0
    delivered: int = 0
    views: int = 0
    """How many different ones events were matched at."""
    retold: int = 0
    """Views of events of which one was told before."""
    lost: list[Delivery] = field(default_factory=list)
    doubled: list[Delivery] = field(default_factory=list)
    uncalled: list[Delivery] = field(default_factory=list)
    """That should not have been."""
    disordered: list[Delivery] = field(default_factory=list)
    misnamed: list[Delivery] = field(default_factory=list)
    """That told other subscriptions, or another view."""

    @property
    def is_clean(self) -> bool:
        return not (self.retold or self.lost or self.doubled or self.uncalled or self.disordered or self.misnamed)


def examine(cluster: Cluster, seen: list[Seen]) -> Findings:
    told = _Views(cluster)
    expected, views = _expected(cluster, told)
    findings = Findings(len(expected), len(seen), len(set(views.values())), told.retold)
    counts: Counter[Delivery] = Counter()
    last: dict[tuple[str, int], int] = {}
    prefix = cluster.names.notifications("")
    for each in seen:
        notification = Notification.decode(each.value)
        subscriber = each.topic.removeprefix(prefix)
        partition, offset = notification.partition, notification.offset
        delivery = subscriber, partition, offset
        counts[delivery] += 1
        if counts[delivery] > 1:
            findings.doubled.append(delivery)
            continue
        if delivery not in expected:
            findings.uncalled.append(delivery)
            continue
        names = tuple(sorted(match.name for match in notification.matches))
        topic_id = cluster.layout.topics[cluster.names.events]
        header = f"1/{topic_id}/{partition}/{offset}/{subscriber}"
        if names != expected[delivery] or each.view != views[partition, offset] or each.header != header:
            findings.misnamed.append(delivery)
        if last.get((subscriber, partition), -1) > offset:
            findings.disordered.append(delivery)
        last[subscriber, partition] = offset
    findings.lost = sorted(expected.keys() - counts.keys())
    return findings


def _expected(cluster: Cluster, views: "_Views") -> tuple[dict[Delivery, tuple[str, ...]], dict[tuple[int, int], str]]:
    """The names of what matches, by delivery; and each event's view."""
    log = _Log(cluster)
    expected: dict[Delivery, list[str]] = {}
    told: dict[tuple[int, int], str] = {}
    for partition, offset, _, value in cluster.content(cluster.names.events):
        event = Event.decode(value or b"")
        view = views.of(partition, offset)
        if view is None:
            # Nobody told at which view it was matched: so it was not.
            for subscriber, name, expression in log.in_force(views.last):
                if expression.evaluate(event.attributes) is True:
                    expected.setdefault((subscriber, partition, offset), []).append(name)
            continue
        told[partition, offset] = view.text
        for subscriber, name, expression in log.in_force(view):
            if expression.evaluate(event.attributes) is True:
                expected.setdefault((subscriber, partition, offset), []).append(name)
    return {delivery: tuple(sorted(names)) for delivery, names in expected.items()}, told


class _Views:
    """By event partition: from which offset on, which view."""

    def __init__(self, cluster: Cluster) -> None:
        self._firsts: dict[int, list[int]] = {}
        self._views: dict[int, list[View]] = {}
        self.last = View(1, [])
        self.retold = 0
        for _, _, _, value in cluster.content(cluster.names.views):
            record = ViewRecord.decode(value or b"")
            assert record.topic_id == cluster.layout.topics[record.topic]
            firsts = self._firsts.setdefault(record.partition, [])
            if firsts and firsts[-1] >= record.first_offset:
                self.retold += 1
                continue
            firsts.append(record.first_offset)
            self._views.setdefault(record.partition, []).append(record.view)
            self.last = record.view

    def of(self, partition: int, offset: int) -> View | None:
        place = bisect_right(self._firsts.get(partition, []), offset)
        return self._views[partition][place - 1] if place > 0 else None


class _Log:
    """The records of the subscription topic, all of them, since nothing was compacted yet."""

    def __init__(self, cluster: Cluster) -> None:
        self._records: list[tuple[int, int, str, tuple[str, str, Expression] | None]] = []
        self._known: dict[str, list[tuple[str, str, Expression]]] = {}
        for partition, offset, key, value in cluster.content(cluster.names.subscriptions):
            self._records.append((partition, offset, (key or b"").decode(), _meant(key, value)))

    def in_force(self, view: View) -> list[tuple[str, str, Expression]]:
        known = self._known.get(view.text)
        if known is None:
            ends = {at.partition: at.offset for at in view.positions}
            last = {key: meant for partition, offset, key, meant in self._records if offset < ends.get(partition, 0)}
            known = self._known[view.text] = [meant for meant in last.values() if meant is not None]
        return known


def _meant(key: bytes | None, value: bytes | None) -> tuple[str, str, Expression] | None:
    if not value:
        return None
    try:
        subscription = Subscription.decode(value, key)
        expression = parse(subscription.expression)
    except (RecordError, ExpressionError):
        return None
    return None if subscription.paused is not None else (subscription.subscriber, subscription.name, expression)

"""What should have come of events and subscriptions: by `Expression.evaluate`, at the views that were told.

It shares no code with the broker beyond the formats. What is in force at a view is computed from the log of
subscriptions, record by record; which view an event has, from the view records of each shard.

A record of the log is good for the views behind it, up to the offset of the next one of its key. So each is taken once,
and asked which of the different events satisfy it; of these it matches those whose view lies in between.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from broker_cluster import Cluster, Seen
from tamis.codecs.errors import RecordError
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import View, ViewRecord
from tamis.indexes import Expression, ExpressionError, parse
from tamis.indexes.values import Value

Delivery = tuple[str, int, int]
"""Subscriber, and the partition and offset of the event."""
Wanted = tuple[str, int]
"""Subscriber, and the event's number among all of them."""
_FOREVER = 1 << 62


@dataclass
class Findings:
    """How what was delivered differs from what should have been."""

    events: int = 0
    expected: int = 0
    delivered: int = 0
    undelivered: int = 0
    """That their topic could not take, as Tamis tells: they count as delivered."""
    views: int = 0
    """How many different ones events were matched at."""
    splits: int = 0
    """Events that different subscribers had at different views, since something ended between two transactions."""
    ids: set[str] = field(default_factory=set)
    """Of events of which anyone was notified."""
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


def examine(cluster: Cluster, seen: Sequence[Seen]) -> Findings:
    events = _Events(cluster)
    shards = [_Views(cluster, events, shard) for shard in range(cluster.layout.shards)]
    expected = _expected(cluster, events, shards)
    findings = Findings(
        events=len(events.places),
        expected=len(expected),
        delivered=sum(not each.is_undelivered for each in seen),
        undelivered=sum(each.is_undelivered for each in seen),
        views=sum(len(shard.texts) for shard in shards),
        splits=sum(len(shard.splits) for shard in shards),
        retold=sum(shard.retold for shard in shards),
    )
    topic_id = cluster.layout.topics[cluster.names.events]
    counts: Counter[Wanted] = Counter()
    last: dict[tuple[str, str, int], int] = {}
    for each in seen:
        notification = Notification.decode(each.value)
        partition, offset = notification.partition, notification.offset
        delivery = each.subscriber, partition, offset
        findings.ids.add(notification.id)
        number = events.numbers.get((partition, offset), -1)
        wanted = each.subscriber, number
        counts[wanted] += 1
        if counts[wanted] > 1:
            findings.doubled.append(delivery)
            continue
        if wanted not in expected:
            findings.uncalled.append(delivery)
            continue
        shard, names = expected[wanted]
        header = f"1/{topic_id}/{partition}/{offset}/{each.subscriber}"
        told = [match.name for match in notification.matches]
        is_right = sorted(told) == sorted(names) and each.view == shards[shard].of(number, each.subscriber)
        if not is_right or each.header != header:
            findings.misnamed.append(delivery)
        order = each.topic, each.subscriber, partition
        if last.get(order, -1) > offset:
            findings.disordered.append(delivery)
        last[order] = offset
    findings.lost = sorted((name, *events.places[number]) for name, number in expected.keys() - counts.keys())
    return findings


class _Events:
    """All that were sent, by number; many have the same attributes, and are asked about once."""

    def __init__(self, cluster: Cluster) -> None:
        self.places: list[tuple[int, int]] = []
        self.numbers: dict[tuple[int, int], int] = {}
        kinds: dict[tuple[tuple[str, Value], ...], int] = {}
        kind_of: list[int] = []
        for partition, offset, _, value in cluster.content(cluster.names.events):
            attributes = Event.decode(value or b"").attributes
            present = {name: value for name, value in attributes.items() if value is not None}
            self.numbers[partition, offset] = len(self.places)
            self.places.append((partition, offset))
            kind_of.append(kinds.setdefault(tuple(sorted(present.items())), len(kinds)))
        self._kind_of: NDArray[np.int64] = np.array(kind_of, np.int64)
        self._kinds: list[Mapping[str, Value]] = [dict(kind) for kind in kinds]
        self._known: dict[str, NDArray[np.bool_]] = {}
        self._seen_by: dict[tuple[str, ...], tuple[NDArray[np.int64], list[int]]] = {}

    def satisfying(self, expression: Expression) -> NDArray[np.bool_]:
        """By number."""
        if expression.text not in self._known:
            alike, examples = self._told_apart(tuple(sorted({each.attribute for each in expression.predicates})))
            verdicts = [expression.evaluate(self._kinds[kind]) is True for kind in examples]
            self._known[expression.text] = np.array(verdicts, np.bool_)[alike]
        return self._known[expression.text][self._kind_of]

    def _told_apart(self, names: tuple[str, ...]) -> tuple[NDArray[np.int64], list[int]]:
        """By these attributes alone: for each kind, which of some examples is like it."""
        if names not in self._seen_by:
            places: dict[tuple[Value | None, ...], int] = {}
            examples: list[int] = []
            alike = []
            for number, kind in enumerate(self._kinds):
                place = places.setdefault(tuple(kind.get(name) for name in names), len(places))
                if place == len(examples):
                    examples.append(number)
                alike.append(place)
            self._seen_by[names] = np.array(alike, np.int64), examples
        return self._seen_by[names]


class _Views:
    """At which view each event was matched by one shard: by event, and where it was cut, by subscriber."""

    def __init__(self, cluster: Cluster, events: _Events, shard: int) -> None:
        self.retold = 0
        self.texts: set[str] = set()
        self.splits: list[int] = []
        self._marks: dict[int, list[tuple[int, bytes]]] = {}
        self._views: dict[int, list[View]] = {}
        self._read(cluster, shard)
        self._events = events
        last = max((views[-1] for views in self._views.values()), key=_reach, default=View(1, []))
        # What nobody matched, since no view of it was told, is owed to whoever wants it in the end.
        self._owed = View(last.layout, last.positions)
        found = [self._last_of(*place) for place in events.places]
        self.texts = {view.text for view in found if view is not self._owed}
        cut = {(partition, mark[0]) for partition, marks in self._marks.items() for mark in marks if mark[1]}
        self.splits = sorted(events.numbers[place] for place in cut)
        ends: dict[int, dict[int, int]] = {}
        self._reached: dict[int, NDArray[np.int64]] = {}
        for view in found:
            ends.setdefault(id(view), {at.partition: at.offset for at in view.positions})
        for partition in range(shard, cluster.layout.partitions, cluster.layout.shards):
            reached = [ends[id(view)].get(partition, 0) for view in found]
            self._reached[partition] = np.array(reached, np.int64)

    def of(self, number: int, subscriber: str) -> str:
        """The text of the view; empty if none was told."""
        view = self._of(*self._events.places[number], subscriber.encode())
        return "" if view is None else view.text

    def behind(self, partition: int, offset: int, until: int, subscriber: str) -> NDArray[np.bool_]:
        """Which events a record is good for: those whose view is behind it, and not behind the next one of its key."""
        reached = self._reached[partition]
        found = (reached > offset) & (reached <= until)
        for number in self.splits:
            view = self._of(*self._events.places[number], subscriber.encode()) or self._owed
            end = next((at.offset for at in view.positions if at.partition == partition), 0)
            found[number] = offset < end <= until
        return found

    def _read(self, cluster: Cluster, shard: int) -> None:
        for _, _, _, value in cluster.content(cluster.names.views):
            record = ViewRecord.decode(value or b"")
            assert record.topic_id == cluster.layout.topics[record.topic]
            if record.shard != shard:
                continue
            mark = record.first_offset, record.after.encode()
            marks = self._marks.setdefault(record.partition, [])
            if marks and marks[-1] >= mark:
                self.retold += 1
                continue
            marks.append(mark)
            self._views.setdefault(record.partition, []).append(record.view)

    def _of(self, partition: int, offset: int, subscriber: bytes) -> View | None:
        """The last one that was told for a place before this subscriber's."""
        place = bisect_left(self._marks.get(partition, []), (offset, subscriber))
        return self._views[partition][place - 1] if place > 0 else None

    def _last_of(self, partition: int, offset: int) -> View:
        """What holds when the event is done."""
        view = self._of(partition, offset + 1, b"")
        return self._owed if view is None else view


@dataclass(frozen=True)
class _Version:
    """A record of the log, and up to which view it is good."""

    partition: int
    offset: int
    until: int
    subscriber: str
    name: str
    expression: Expression


def _expected(cluster: Cluster, events: _Events, shards: Sequence[_Views]) -> dict[Wanted, tuple[int, list[str]]]:
    """The shard that is to deliver it, and the names of what matches."""
    expected: dict[Wanted, tuple[int, list[str]]] = {}
    for version in _versions(cluster):
        shard = version.partition % cluster.layout.shards
        good = shards[shard].behind(version.partition, version.offset, version.until, version.subscriber)
        for number in np.flatnonzero(good & events.satisfying(version.expression)).tolist():
            expected.setdefault((version.subscriber, number), (shard, []))[1].append(version.name)
    return expected


def _versions(cluster: Cluster) -> Iterator[_Version]:
    """Of what is in the log. What was compacted away was so before anything was matched."""
    nexts: dict[tuple[int, bytes], int] = {}
    for partition, offset, key, value in reversed(list(cluster.content(cluster.names.subscriptions))):
        until = nexts.get((partition, key or b""), _FOREVER)
        nexts[partition, key or b""] = offset
        meant = _meant(key, value)
        if meant is not None:
            yield _Version(partition, offset, until, *meant)


def _meant(key: bytes | None, value: bytes | None) -> tuple[str, str, Expression] | None:
    if not value:
        return None
    try:
        subscription = Subscription.decode(value, key)
        expression = parse(subscription.expression)
    except (RecordError, ExpressionError):
        return None
    return None if subscription.paused is not None else (subscription.subscriber, subscription.name, expression)


def _reach(view: View) -> int:
    return sum(at.offset for at in view.positions)

"""What should have been delivered, and how that differs from what was.

The broker's own code is not asked. What Tamis tells about its work is enough: each notification and `tamis.views` name
the view that an event was matched at, that is, how far into the log of subscriptions. What the log holds up to there is
in force, and `Expression.evaluate` says what matches.
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from tamis.admin.demo.audience import Seen
from tamis.broker.configuration import Settings
from tamis.broker.kafka import Message, TopicPartition, offset_of, place_of
from tamis.broker.reading import BEGINNING, partitions_of, records
from tamis.codecs.event import Event
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.codecs.view import View, ViewRecord
from tamis.indexes import Expression, parse

Delivery = tuple[str, int, int]
"""Subscriber, and the partition and offset of the event."""
Wanted = tuple[str, str, Expression]
"""Subscriber, name, and what an event must satisfy."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Of one run."""

    events: int
    expected: int
    delivered: int
    lost: int
    duplicated: int
    wrong: int
    """That nobody was to get, or that name other subscriptions or another view than they should."""
    disordered: int
    """That came after a later event of the same partition."""
    views: int
    """How many different ones events were matched at."""

    @property
    def is_clean(self) -> bool:
        return self.expected == self.delivered and not (self.lost or self.duplicated or self.wrong or self.disordered)

    def __str__(self) -> str:
        return (
            f"{self.events} events, {self.expected} notifications expected, {self.delivered} delivered, "
            f"{self.lost} lost, {self.duplicated} duplicated"
        )


def judged(settings: Settings, seen: Sequence[Seen]) -> Verdict:
    views, log = Views(settings), Log(settings)
    expected: dict[Delivery, tuple[View | None, list[str]]] = {}
    used: set[str] = set()
    events = 0
    for record in _content(settings, settings.names.events):
        events += 1
        place = place_of(record)[1], offset_of(record)
        attributes = Event.decode(record.value() or b"").attributes
        for view, is_of in views.of(*place):
            used.add("" if view is None else view.text)
            for subscriber, name, expression in log.in_force(view):
                if is_of(subscriber) and expression.evaluate(attributes) is True:
                    expected.setdefault((subscriber, *place), (view, []))[1].append(name)
    times: Counter[Delivery] = Counter()
    last: dict[tuple[str, int], int] = {}
    wrong = disordered = 0
    for each in seen:
        told = Notification.decode(each.value)
        delivery = each.subscriber, told.partition, told.offset
        times[delivery] += 1
        view, names = expected.get(delivery, (None, []))
        is_right = view is not None and view.text == each.view and {match.name for match in told.matches} == set(names)
        wrong += not is_right
        disordered += times[delivery] == 1 and last.get(delivery[:2], -1) > told.offset
        last[delivery[:2]] = told.offset
    return Verdict(
        events=events,
        expected=len(expected),
        delivered=len(seen),
        lost=len(expected.keys() - times.keys()),
        duplicated=sum(count - 1 for count in times.values()),
        wrong=wrong,
        disordered=disordered,
        views=len(used),
    )


class Views:
    """By event partition: from which offset on, and of its event behind which subscriber, which view."""

    def __init__(self, settings: Settings) -> None:
        self._firsts: dict[int, list[tuple[int, bytes]]] = {}
        self._views: dict[int, list[View]] = {}
        for record in _content(settings, settings.names.views):
            told = ViewRecord.decode(record.value() or b"")
            self._firsts.setdefault(told.partition, []).append((told.first_offset, told.after.encode()))
            self._views.setdefault(told.partition, []).append(told.view)

    def of(self, partition: int, offset: int) -> Iterator[tuple[View | None, Callable[[str], bool]]]:
        """Each view that an event was matched at, and of which subscribers. None if nobody told: it was not matched.

        There are several where something ended between the transactions that an event took.
        """
        firsts, views = self._firsts.get(partition, []), self._views.get(partition, [])
        begin, end = bisect_right(firsts, (offset, b"")), bisect_left(firsts, (offset + 1, b""))
        bounds = [b"", *(after for _, after in firsts[begin:end]), None]
        for place, (after, until) in zip(range(begin, end + 1), pairwise(bounds), strict=True):
            yield views[place - 1] if place > 0 else None, _between(after or b"", until)


def _between(after: bytes, until: bytes | None) -> Callable[[str], bool]:
    return lambda subscriber: after < subscriber.encode() and (until is None or subscriber.encode() <= until)


class Log:
    """All records of the subscription topic, which is too young to be compacted."""

    def __init__(self, settings: Settings) -> None:
        self._records = [
            (*place_of(record), offset_of(record), record.key(), _meant(record))
            for record in _content(settings, settings.names.subscriptions)
        ]
        self._known: dict[str, list[Wanted]] = {}

    def in_force(self, view: View | None) -> Iterable[Wanted]:
        """At a view; without one, now: an event that nobody matched is owed to all that want it."""
        text = "" if view is None else view.text
        if text not in self._known:
            ends = None if view is None else {at.partition: at.offset for at in view.positions}
            last = {
                key: meant
                for _, partition, offset, key, meant in self._records
                if ends is None or offset < ends.get(partition, 0)
            }
            self._known[text] = [meant for meant in last.values() if meant is not None]
        return self._known[text]


def _meant(record: Message) -> Wanted | None:
    """None if it takes a subscription back."""
    value = record.value()
    if not value:
        return None
    subscription = Subscription.decode(value, record.key())
    return subscription.subscriber, subscription.name, parse(subscription.expression)


def _content(settings: Settings, topic: str) -> Iterator[Message]:
    """All that is committed; of one partition in its order."""
    partitions = partitions_of(settings.kafka, topic)
    return records(settings.kafka, [TopicPartition(topic, partition, BEGINNING) for partition in partitions])

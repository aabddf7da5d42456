"""What one transaction may hold; and that cutting loses and repeats nothing."""

from collections.abc import Mapping
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.broker.matching_step import Bounds, Matched, matched, notifications, within
from tamis.broker.message_batch import MessageBatch
from tamis.broker.partitions import partition_of
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.event import Event
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.formats import NotificationFormat
from tamis.codecs.layout import Layout
from tamis.codecs.notification import Notification
from tamis.codecs.subscription import Subscription
from tamis.indexes.limits import Limits

LAYOUT = Layout(1, 1, 1, {"subscriptions": "id"}, Limits())
IDS = {"events": "E", "more": "M"}


@dataclass
class Record:
    """As the client hands it out."""

    name: str
    place: int
    number: int
    payload: bytes

    def topic(self) -> str:
        return self.name

    def partition(self) -> int:
        return self.place

    def offset(self) -> int:
        return self.number

    def timestamp(self) -> tuple[int, int]:
        return 1, 0

    def value(self) -> bytes:
        return self.payload

    def key(self) -> bytes:
        return b"key"


def state_of(*subscriptions: Subscription, form: NotificationFormat = NotificationFormat.AVRO) -> SubscriptionState:
    state = SubscriptionState(LAYOUT, "pst-hash", form)
    for subscription in subscriptions:
        assert not state.apply(partition_of(subscription.subscriber, 1), [subscription.key], [subscription.encode()])
    return state


def messages_of(values: list[int | None], topics: list[str]) -> list[Record]:
    return [
        Record(topic, 0, number, b"rubbish" if value is None else Event(str(number), 0, {"a": value}).encode())
        for number, (value, topic) in enumerate(zip(values, topics, strict=True))
    ]


@given(
    st.lists(st.tuples(st.none() | st.integers(0, 9), st.sampled_from(["events", "more"])), max_size=25),
    st.integers(1, 12),
    st.integers(1, 5),
    st.integers(1, 500),
)
def test_however_a_batch_is_cut_each_event_is_told_once(
    given_events: list[tuple[int | None, str]], most_notifications: int, most_topics: int, most_bytes: int
) -> None:
    subscriptions = [Subscription(f"s{at}", "one", f"a between {at} and {at + 4}") for at in range(6)]
    state = state_of(*subscriptions)
    values, topics = [value for value, _ in given_events], [topic for _, topic in given_events]
    left = messages_of(values, topics)
    told: list[tuple[str, int, str]] = []
    refused = 0
    decoder = EventDecoder()
    bounds = Bounds(most_notifications, most_topics, most_bytes)
    while left:
        batch = MessageBatch.of(left, {})  # type: ignore[arg-type]
        step = matched(state, decoder, batch, bounds)
        assert step.done > 0
        rest: Matched | None = step
        while rest is not None:
            part, rest = within(rest, bounds)
            assert rest is None or step.done == 1
            numbers = part.groups.subscribers.tolist()
            assert len(numbers) <= most_notifications
            assert len(set(numbers)) <= most_topics
            names = state.subscriber_names(numbers)
            sent = notifications(state, part, IDS, names)
            for place, number, (_, value) in zip(part.places, numbers, sent, strict=True):
                notification = Notification.decode(value)
                assert notification.offset == batch.messages[place].offset()
                told.append((notification.topic, notification.offset, names[number].decode()))
        refused += len(step.refusals)
        left = list(batch.messages[step.done :])  # type: ignore[arg-type]
    assert sorted(told) == sorted(
        (topic, number, f"s{at}")
        for number, (value, topic) in enumerate(given_events)
        for at in range(6)
        if value is not None and at <= value <= at + 4
    )
    assert refused == values.count(None)


@given(st.permutations(range(9)), st.integers(1, 9), st.integers(0, 9))
def test_an_event_that_was_begun_goes_on_behind_the_subscriber_that_came_last(
    order: list[int], most: int, sent: int
) -> None:
    """In the order of names, not of the numbers that this process gave them."""
    names = sorted(f"s{number}" for number in order)
    state = state_of(*(Subscription(f"s{number}", name, "a = 1") for number in order for name in ("one", "two")))
    batch = MessageBatch.of(messages_of([1, 1], ["events", "more"]), {})  # type: ignore[arg-type]
    bounds = Bounds(100, most, 100_000)
    after = {0: names[sent - 1]} if sent else {}
    told: list[str] = []
    rest: Matched | None = matched(state, EventDecoder(), batch, bounds, after)
    while rest is not None:
        part, rest = within(rest, bounds)
        numbers = [
            number for place, number in zip(part.places, part.groups.subscribers.tolist(), strict=True) if place == 0
        ]
        told += [name.decode() for name in map(state.subscriber_names(numbers).__getitem__, numbers)]
        for _, value in notifications(state, part, IDS, state.subscriber_names(part.groups.subscribers.tolist())):
            assert [match.name for match in Notification.decode(value).matches] == ["one", "two"]
        assert rest is None or told == names[sent : sent + len(told)]
    assert sorted(told) == names[sent:]


@pytest.mark.parametrize("form", NotificationFormat)
def test_what_is_too_large_only_as_json_goes_out_in_the_order_of_names_too(form: NotificationFormat) -> None:
    """Half of it fits as it came; as JSON a number of 17 digits takes twice its eight bytes."""
    order = [3, 1, 4, 0, 5, 9, 2, 6]
    state = state_of(*(Subscription(f"s{number}", "one", "a0 > 0") for number in order), form=form)
    value = Event("e", 0, {f"a{number}": 0.1234567890123456 + number for number in range(200)}).encode()
    batch = MessageBatch.of([Record("events", 0, 0, value)], {})  # type: ignore[list-item]
    bounds = Bounds(100, 100, len(value) * len(order))
    told: list[str] = []
    parts = 0
    rest: Matched | None = matched(state, EventDecoder(), batch, bounds)
    while rest is not None:
        part, rest = within(rest, bounds)
        numbers = part.groups.subscribers.tolist()
        told += [name.decode() for name in map(state.subscriber_names(numbers).__getitem__, numbers)]
        parts += 1
    assert parts == (1 if form is NotificationFormat.AVRO else 2)
    assert sorted(told) == sorted(f"s{number}" for number in order)
    assert parts == 1 or told == sorted(told)


@pytest.mark.parametrize("scores", [False, True])
def test_scores_are_told_where_they_are_asked_for(scores: bool) -> None:  # noqa: FBT001
    state = state_of(Subscription("ann", "one", "a = 1 weight 2", scores=scores), Subscription("bob", "one", "a = 1"))
    step = matched(state, EventDecoder(), MessageBatch.of(messages_of([1], ["events"]), {}), Bounds(10, 10, 1000))  # type: ignore[arg-type]
    names = state.subscriber_names(step.groups.subscribers.tolist())
    told: Mapping[str, float | None] = {
        names[number].decode(): Notification.decode(value).matches[0].score
        for number, (_, value) in zip(
            step.groups.subscribers.tolist(), notifications(state, step, IDS, names), strict=True
        )
    }
    assert told == {"ann": 2.0 if scores else None, "bob": None}

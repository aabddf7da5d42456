"""The state beside a plain model: what is in force is a function of the records, however they are cut."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tamis.broker.partitions import partition_of
from tamis.broker.subscription_state import SubscriptionState
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.indexes import parse
from tamis.indexes.limits import Limits

PARTITIONS = 2
SUBSCRIBERS = ["ann", "bob", "carol", "dave"]
LAYOUT = Layout(1, 1, PARTITIONS, {"tamis.subscriptions": "id"}, Limits(predicates=3))
EXPRESSIONS = ["a = 1", "a = 1 and b = 2", "a > 0 or b > 0", "missing a", "a = ", "a = 1 and b = 1 and c = 1 and d = 1"]
EVENTS = [{"a": 1}, {"b": 2}, {"a": 1, "b": 2}, {}]

Record = tuple[int, bytes | None, bytes | None]


@st.composite
def records(draw: st.DrawFn) -> Record:
    """Of any partition; keys, values and what they say may be wrong."""
    subscriber = draw(st.sampled_from(SUBSCRIBERS))
    subscription = Subscription(
        subscriber,
        draw(st.sampled_from(["x", "y"])),
        draw(st.sampled_from(EXPRESSIONS)),
        draw(st.sampled_from([{}, {"team": "blue"}])),
        draw(st.booleans()),
        draw(st.sampled_from([None, None, None, "for now"])),
    )
    partition = draw(st.sampled_from([partition_of(subscriber, PARTITIONS)] * 5 + [0, 1]))
    value = draw(st.sampled_from([subscription.encode()] * 6 + [None, b"", b"rubbish"]))
    key = draw(st.sampled_from([subscription.key] * 8 + [b"ann/z", b"no key", None]))
    return partition, key, value


def model(given_records: list[Record]) -> dict[bytes, Subscription]:
    """By key what is in force, one record after the other."""
    in_force: dict[bytes, Subscription] = {}
    for partition, key, value in given_records:
        if key is None or b"/" not in key:
            continue
        if partition_of(key.decode().split("/")[0], PARTITIONS) != partition:
            continue
        in_force.pop(key, None)
        if not value:
            continue
        try:
            subscription = Subscription.decode(value, key)
            parse(subscription.expression, LAYOUT.limits)
        except ValueError:
            continue
        if subscription.paused is None:
            in_force[key] = subscription
    return in_force


def applied(given_records: list[Record], cuts: random.Random) -> tuple[SubscriptionState, int]:
    """The state after all of them, in batches of each partition; and how many were invalid."""
    state = SubscriptionState(LAYOUT, "pst-hash")
    invalid = 0
    for partition in range(PARTITIONS):
        part = [(key, value) for place, key, value in given_records if place == partition]
        while part:
            size = cuts.randrange(1, 6)
            batch, part = part[:size], part[size:]
            invalid += len(state.apply(partition, [key for key, _ in batch], [value for _, value in batch]))
    return state, invalid


@given(st.lists(records(), max_size=30), st.integers(0, 5))
def test_what_is_in_force_is_what_the_log_says_record_by_record(given_records: list[Record], seed: int) -> None:
    state, invalid = applied(given_records, random.Random(seed))
    expected = model(given_records)
    assert len(state) == len(expected)
    for event in EVENTS:
        found = sorted(
            (state.subscriber_names([number])[number].decode(), state.index[int(place)].text)
            for place in state.index.match(event)
            for number in [state.table.subscriber(int(place))]
        )
        assert found == sorted(
            (subscription.subscriber, parse(subscription.expression).text)
            for subscription in expected.values()
            if parse(subscription.expression).evaluate(event) is True
        )
    assert state.tells_scores == any(subscription.scores for subscription in expected.values())
    _, invalid_one_by_one = applied(given_records, random.Random(99))
    assert invalid == invalid_one_by_one, "how many are invalid does not depend on how they were cut"


@given(st.lists(records(), max_size=30))
def test_nothing_is_left_of_what_is_taken_back(given_records: list[Record]) -> None:
    state, _ = applied(given_records, random.Random(1))
    for subscriber in SUBSCRIBERS:
        for name in ("x", "y", "z"):
            state.apply(partition_of(subscriber, PARTITIONS), [f"{subscriber}/{name}".encode()], [None])
    assert len(state) == 0
    assert len(state.table) == 0
    assert not state.tells_scores
    assert len(state._keys) == len(state._subscribers) == 0


@pytest.mark.parametrize(
    ("key", "value", "reason"),
    [
        (None, None, "bad_key"),
        (b"ann", None, "bad_key"),
        (b"\xff/x", None, "bad_key"),
        (b"ann/x", b"rubbish", "unknown_framing"),
        (b"ann/x", Subscription("ann", "y", "a = 1").encode(), "key_mismatch"),
        (b"ann/x", Subscription("ann", "x", "a = ").encode(), "bad_expression"),
        (b"ann/x", Subscription("ann", "x", " and ".join(["a = 1"] * 4)).encode(), "bad_expression"),
    ],
)
def test_what_is_invalid_is_told_with_its_reason(key: bytes | None, value: bytes | None, reason: str) -> None:
    state = SubscriptionState(LAYOUT, "scan")
    (record,) = state.apply(partition_of("ann", PARTITIONS), [key], [value])
    assert (record.position, record.reason) == (0, reason)
    assert record.detail


def test_a_record_in_the_wrong_partition_changes_nothing() -> None:
    state = SubscriptionState(LAYOUT, "scan")
    home = partition_of("ann", PARTITIONS)
    assert state.apply(home, [b"ann/x"], [Subscription("ann", "x", "a = 1").encode()]) == []
    (record,) = state.apply(1 - home, [b"ann/x"], [None])
    assert record.reason == "wrong_partition"
    assert f"belong to partition {home}" in record.detail
    assert len(state) == 1


def test_a_number_that_another_subscriber_had_names_the_new_one() -> None:
    state = SubscriptionState(LAYOUT, "scan")
    for subscriber in ("ann", "bob"):
        partition = partition_of(subscriber, PARTITIONS)
        state.apply(partition, [f"{subscriber}/x".encode()], [Subscription(subscriber, "x", "a = 1").encode()])
        (place,) = state.index.match({"a": 1}).tolist()
        number = state.table.subscriber(place)
        assert state.subscriber_names([number])[number] == subscriber.encode()
        state.apply(partition, [f"{subscriber}/x".encode()], [None])

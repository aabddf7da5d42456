"""What columns of subscriptions are good for: an index and a table filled at once."""

from typing import Any

import numpy as np
import pytest

from tamis.codecs.subscription import Subscription
from tamis.codecs.subscription_columns import NOBODY, RefusedSubscription
from tamis.codecs.subscription_reader import read_subscriptions
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes import parse_many


def test_columns_are_of_those_that_say_a_subscription() -> None:
    first = Subscription("ann", "cheap", "price < 5", {"team": "a"}, scores=True)
    second = Subscription("bob", "all", "exists price", paused="too slow")
    third = Subscription("ann", "few", "price < ", {"team": "a"})
    records = [
        (first.key, first.encode()),
        (b"ann/old", b""),
        (b"ann", first.encode()),
        (second.key, second.encode()),
        (b"ann/other", first.encode()),
        (third.key, third.encode()),
        (None, None),
        (b"bob/old", None),
    ]
    columns = read_subscriptions(*zip(*records, strict=True))
    assert columns.keys == ["ann/cheap", "ann/old", None, "bob/all", "ann/other", "ann/few", None, "bob/old"]
    assert columns.tombstones.tolist() == [1, 7]
    assert columns.positions.tolist() == [0, 3, 5]
    assert columns.subscribers == ["ann", "bob"]
    assert columns.owners.tolist() == [0, 0, NOBODY, 1, 0, 0, NOBODY, 1]
    assert columns.names == ["cheap", "all", "few"]
    assert columns.expressions == ["price < 5", "exists price", "price < "]
    assert columns.tags == [{"team": "a"}, {}, {"team": "a"}]
    assert columns.tags[0] is columns.tags[2]
    assert columns.scores.tolist() == [True, False, False]
    assert columns.paused == [None, "too slow", None]
    assert columns.refusals == [
        RefusedSubscription(2, "bad_key", "the key b'ann' is not subscriber/name"),
        RefusedSubscription(4, "key_mismatch", "the key is b'ann/other', but the record is of b'ann/cheap'"),
        RefusedSubscription(6, "bad_key", "the record has no key; that of a subscription is subscriber/name"),
    ]
    expressions, errors = parse_many(columns.expressions)
    assert len(expressions) == 2
    assert [place for place, _ in errors] == [2]
    table = SubscriptionTable()
    numbers = np.array([40, 41], np.uint32)[columns.owners[columns.positions]]
    table.put_many(columns.positions, numbers, columns.names, columns.tags, columns.scores)
    assert [table.subscriber(number) for number in (0, 3, 5)] == [40, 41, 40]


def test_nothing_gives_nothing() -> None:
    columns = read_subscriptions([], [])
    assert (columns.keys, columns.refusals, columns.names, columns.subscribers) == ([], [], [], [])
    assert len(columns.positions) == len(columns.tombstones) == 0


def test_each_record_has_a_key_and_a_value() -> None:
    with pytest.raises(ValueError, match="2 and 1"):
        read_subscriptions([b"a/b", b"a/c"], [b""])


@pytest.mark.parametrize(("key", "value"), [("a/b", b"x"), (b"a/b", "x"), (None, "x"), (b"a/b", bytearray())])
def test_keys_and_values_are_bytes(key: Any, value: Any) -> None:
    with pytest.raises(TypeError, match="bytes or None"):
        read_subscriptions([key], [value])

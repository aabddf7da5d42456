"""The story holds: everybody gets something, nobody everything, and the two who come and go can be seen to."""

from collections import Counter
from itertools import islice

from tamis.admin.demo.shop import AT_FIRST, GIVEN_UP, LATER, PEOPLE, offers
from tamis.codecs.event import Event
from tamis.indexes import parse


def test_the_same_offers_come_each_time() -> None:
    assert list(islice(offers(), 50)) == list(islice(offers(), 50))


def test_an_offer_is_an_event() -> None:
    offer = next(offers())
    assert Event.decode(offer.encode()).attributes == offer.attributes


def test_every_subscription_matches_some_offers_and_none_matches_most() -> None:
    found: Counter[str] = Counter()
    for offer in islice(offers(), 1000):
        for subscription in (*AT_FIRST, LATER):
            found[subscription.name] += parse(subscription.expression).evaluate(offer.attributes) is True
    assert all(50 < found[subscription.name] < 300 for subscription in (*AT_FIRST, LATER)), found


def test_who_comes_later_had_nothing_and_who_takes_back_keeps_something() -> None:
    assert {subscription.subscriber for subscription in AT_FIRST} == set(PEOPLE) - {LATER.subscriber}
    assert [one.subscriber for one in AT_FIRST].count(GIVEN_UP.subscriber) > 1

"""Events of 30 attributes, and two kinds of subscriptions of which about one matches an event."""

import random
from collections.abc import Iterator

from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription

ATTRIBUTES = 30
SUBSCRIBERS = 10
_SYMBOLS = 100_000
_VALUES = 1_000_000
_RANGES = 3


def alerts(count: int, seed: int = 1) -> Iterator[Subscription]:
    """What people ask for: one thing, under conditions. `symbol = "S4711" and price < 500 and region = "eu"`."""
    chance = random.Random(seed)
    each = count / _SYMBOLS
    width = round(_VALUES * min(1, 4 / each))
    for number in range(count):
        low = chance.randrange(max(1, _VALUES - width))
        text = (
            f'symbol = "S{chance.randrange(_SYMBOLS)}" and price between {low} and {low + width} '
            f'and region = "region-{chance.randrange(4)}"'
        )
        yield Subscription(f"subscriber-{number % SUBSCRIBERS}", f"name-{number}", text)


def ranges(count: int, seed: int = 1) -> Iterator[Subscription]:
    """What is hard: nothing but ranges, so that every event comes near to many of them."""
    chance = random.Random(seed)
    width = round(_VALUES * (1 / count) ** (1 / _RANGES))
    for number in range(count):
        told = []
        for attribute in chance.sample(range(ATTRIBUTES - 3), _RANGES):
            low = chance.randrange(-width // 2, _VALUES - width // 2)
            told.append(f"attribute-{attribute} between {low} and {low + width}")
        yield Subscription(f"subscriber-{number % SUBSCRIBERS}", f"name-{number}", " and ".join(told))


WORKLOADS = {"alerts": alerts, "ranges": ranges}


def events(count: int, seed: int = 2) -> Iterator[Event]:
    """For both."""
    chance = random.Random(seed)
    for number in range(count):
        values: dict[str, int | str] = {
            f"attribute-{place}": chance.randrange(_VALUES) for place in range(ATTRIBUTES - 3)
        }
        values |= {
            "symbol": f"S{chance.randrange(_SYMBOLS)}",
            "price": chance.randrange(_VALUES),
            "region": f"region-{chance.randrange(4)}",
        }
        yield Event(f"event-{number}", 1_700_000_000_000_000 + number, values)

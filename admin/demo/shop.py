"""The offers of a shop, and the people who want some of them."""

import random
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from tamis.codecs.event import Event
from tamis.codecs.subscription import Subscription
from tamis.indexes.values import Value

_BRANDS = {
    "phone": ("apple", "fairphone", "nokia", "samsung"),
    "laptop": ("apple", "framework", "lenovo"),
    "shoes": ("camper", "ecco", "puma"),
    "bike": ("brompton", "canyon", "gazelle"),
    "headphones": ("apple", "bose", "sony"),
}
_PRICES = {
    "phone": (190, 1190),
    "laptop": (450, 2400),
    "shoes": (40, 210),
    "bike": (250, 2900),
    "headphones": (30, 390),
}
_COLOURS = ("black", "white", "silver", "red", "blue")
_REGIONS = ("eu", "eu", "uk", "us")

PEOPLE: tuple[str, ...] = ("ann", "ben", "cleo", "dora", "eva")
AT_FIRST = (
    Subscription("ann", "phones", 'category = "phone" and price < 800'),
    Subscription("ben", "shoes", 'category = "shoes" and size between 40 and 44'),
    Subscription("ben", "last-ones", 'stock <= 2 and not region = "us"'),
    Subscription("cleo", "apple", 'brand = "apple" and (price < 800 or rating > 4)'),
    Subscription("dora", "near-by", 'price < 250 and region in ("eu", "uk")'),
)
LATER = Subscription("eva", "bikes", 'category = "bike" and colour != "blue"')
"""Eva's, who comes when the offers run already."""
GIVEN_UP = AT_FIRST[2]
"""What Ben takes back."""


@dataclass(frozen=True, slots=True)
class Offer:
    """An event of the shop."""

    number: int
    attributes: Mapping[str, Value]

    @property
    def key(self) -> bytes:
        """Offers of a category share a partition, so whoever gets several of them has them in order."""
        return str(self.attributes["category"]).encode()

    def encode(self) -> bytes:
        return Event(str(self.number), time.time_ns() // 1000, self.attributes).encode()


def offers(seed: int = 7) -> Iterator[Offer]:
    """Without end, and the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311 - nothing is to be kept secret
    number = 0
    while True:
        number += 1
        category = chance.choice(tuple(_BRANDS))
        attributes: dict[str, Value] = {
            "category": category,
            "brand": chance.choice(_BRANDS[category]),
            "colour": chance.choice(_COLOURS),
            "price": chance.randint(*_PRICES[category]),
            "region": chance.choice(_REGIONS),
            "rating": round(chance.uniform(2.5, 5.0), 1),
            "stock": chance.randint(1, 9),
        }
        if category == "shoes":
            attributes["size"] = chance.randint(36, 47)
        yield Offer(number, attributes)


def told(attributes: Mapping[str, Value]) -> str:
    """An offer as people read it."""
    size = f" size {attributes['size']}" if "size" in attributes else ""
    return (
        f"{attributes['colour']} {attributes['brand']} {attributes['category']}{size}, {attributes['price']} EUR, "
        f"{attributes['region']}, {attributes['rating']}/5, {attributes['stock']} left"
    )

"""What clients do while everything else breaks: publish at a pace, subscribe, change their minds, unsubscribe.

Each subscription that was just acknowledged, and each end of one, is followed at once by an event that asks for it:
Tamis promises that the first of them is delivered, and the second is not.
"""

import itertools
import random
import threading
import time
from collections import deque
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from broker_cluster import Cluster
from tamis.broker.partitions import partition_of
from tamis.codecs.event import Event
from tamis.codecs.layout import Layout
from tamis.codecs.subscription import Subscription
from tamis.indexes.values import Value

TICK_SECONDS = 0.1
REGULARS = 4
"""Subscribers of each shard that come and go and are notified of most."""
CROWD = 7
"""Subscribers of each shard that wait for one kind of event, which all others wait for too."""
BANDS = 12
"""Standing subscriptions of a regular one."""
PAIRS = 80
"""How many are in force of the subscriptions that come and go; more while events wait."""
PAIRS_MAX = 200
PAIRS_CYCLE = 480
"""After so many they come again: long after what asked for the ones before, since no more are in force."""
REGIONS = ("eu", "uk", "us")


@dataclass(frozen=True)
class Cast:
    """The subscribers of one shard."""

    beacon: str
    """Gets some events of every partition, at a steady pace: who sees when it stops."""
    regulars: Sequence[str]
    crowd: Sequence[str]

    @property
    def everyone(self) -> list[str]:
        return [self.beacon, *self.regulars, *self.crowd]


def cast_of(layout: Layout) -> list[Cast]:
    """By shard."""
    casts = []
    for shard in range(layout.shards):
        names = _names_of(layout, shard)
        beacon, regulars, crowd = (list(itertools.islice(names, count)) for count in (1, REGULARS, CROWD))
        casts.append(Cast(beacon[0], regulars, crowd))
    return casts


def _names_of(layout: Layout, shard: int) -> Iterator[str]:
    for number in itertools.count():
        name = f"subscriber-{number}"
        if partition_of(name, layout.partitions) % layout.shards == shard:
            yield name


def band(subscriber: str, number: int, low: int) -> Subscription:
    region = REGIONS[number % len(REGIONS)]
    expression = f'price between {low} and {low + 19} and not (region = "{region}")'
    return Subscription(subscriber, f"band-{number}", expression)


class Load:
    """Runs in a thread of its own from the beginning of a block to its end."""

    def __init__(self, cluster: Cluster, casts: Sequence[Cast], rate: float, seed: int, keys: Container[bytes]) -> None:
        """The keys are those of events that were delivered, as far as is known."""
        self.sent = 0
        self.come: list[str] = []
        """The ids of events that came after a subscription to them was acknowledged."""
        self.gone: list[str] = []
        """Of those that came after the end of a subscription to them was."""
        self._cluster = cluster
        self._casts = casts
        self._regulars = [name for cast in casts for name in cast.regulars]
        self._rate = rate
        self._keys = keys
        self._in_force = deque(range(-PAIRS, 0))
        self._newest = 0
        self._chance = random.Random(seed)
        self._beats = max(1, round(rate / 100))
        self._stopping = threading.Event()
        self.failure: BaseException | None = None
        """What ended it: then the last that it sent may come late, or never."""
        self._thread = threading.Thread(target=self._run, name="load")

    def standing(self) -> list[Subscription]:
        """What is in force when everything starts."""
        found = []
        for cast in self._casts:
            found.append(Subscription(cast.beacon, "beat", "exists beat"))
            found += [Subscription(name, "storm", "storm = true") for name in cast.everyone]
            found += [
                band(name, number, self._chance.randrange(50) * 20) for name in cast.regulars for number in range(BANDS)
            ]
        return found + [self._pair(number) for number in range(-PAIRS, 0)]

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """When this returns, all that was sent is acknowledged."""
        self._stopping.set()
        self._thread.join()

    def require_alive(self) -> None:
        if self.failure is not None:
            raise self.failure

    def _run(self) -> None:
        try:
            self._work()
            self._cluster.flush()
        except Exception as error:  # noqa: BLE001 - whoever waits for this thread is told
            self.failure = error

    def _work(self) -> None:
        began = time.monotonic()
        for number in itertools.count():
            for _ in range(round(self._rate * TICK_SECONDS)):
                self._send_usual()
            if number % 10 == 0:
                self._send(f"storm-{number}", {"storm": True})
            self._change(number)
            ahead = began + self.sent / self._rate - time.monotonic()
            if self._stopping.wait(max(ahead, 0.0)):
                return

    def _change(self, number: int) -> None:
        """One comes, one goes, and now and then one of those that stay is another one."""
        if len(self._in_force) < PAIRS_MAX:
            self._cluster.subscribe(self._pair(self._newest))
            self.come.append(self._ask("come", self._newest))
            self._in_force.append(self._newest)
            self._newest += 1
        # An event that waits is matched against what is in force then: its subscription must not have gone meanwhile.
        if self._in_force[0] < 0 or f"come-{self._in_force[0]}".encode() in self._keys:
            oldest = self._in_force.popleft()
            old = self._pair(oldest)
            self._cluster.unsubscribe(old.subscriber, old.name)
            self.gone.append(self._ask("gone", oldest))
        if number % 4 == 0:
            subscriber = self._chance.choice(self._regulars)
            changed = band(subscriber, self._chance.randrange(BANDS), self._chance.randrange(50) * 20)
            self._cluster.subscribe(changed)

    def _pair(self, number: int) -> Subscription:
        turn = number % PAIRS_CYCLE
        return Subscription(self._regulars[turn % len(self._regulars)], f"pair-{turn}", f"pair = {turn}")

    def _ask(self, why: str, number: int) -> str:
        return self._send(f"{why}-{number}", {"pair": number % PAIRS_CYCLE})

    def _send_usual(self) -> None:
        attributes: dict[str, Value] = {
            "price": self._chance.randrange(1000),
            "region": self._chance.choice(REGIONS),
        }
        if self.sent // 4 % self._beats == 0:
            attributes["beat"] = True
        self._send(str(self.sent), attributes)

    def _send(self, name: str, attributes: dict[str, Value]) -> str:
        event = Event(name, int(time.time() * 1_000_000), attributes)
        self._cluster.send(self._cluster.names.events, event.encode(), name.encode(), self.sent % 4)
        self.sent += 1
        return name

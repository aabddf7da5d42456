"""A network that is bad for everybody: of Kafka's and of Redis's clients, by Toxiproxy."""

import functools
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

from chaos_kafka import Later
from toxiproxy import BOTH, Toxiproxy

KAFKA, REDIS = "kafka", "redis"
_SECONDS = (0.5, 2.0, 5.0)
_DELAYS_MS = (20, 200, 1000)
_JITTER = 4
"""A delay is longer or shorter by up to this part of it."""
_KILOBYTES = (5, 50, 500)
_PIECE_BYTES = (10, 1000)
_PIECE_MICROSECONDS = 500
_TORN_AFTER_BYTES = (100, 5_000, 50_000)
_HARMS = ("delay", "trickle", "slice", "silence", "cut", "reset", "tear")
TOXIC_KINDS = tuple(f"{server}: {harm}" for server in (KAFKA, REDIS) for harm in _HARMS)


@dataclass
class ToxicFaults:
    network: Toxiproxy
    chance: random.Random
    later: Later

    def __post_init__(self) -> None:
        self._is_ill = False
        harms = (self._delay, self._trickle, self._slice, self._silence, self.network.cut, self._reset, self._tear)
        each = itertools.product((KAFKA, REDIS), harms)
        self.kinds = {
            kind: functools.partial(self._does, harm, server)
            for kind, (server, harm) in zip(TOXIC_KINDS, each, strict=True)
        }
        """Each does it for a while, or says that it cannot be done just now."""

    def _does(self, harm: Callable[[str], None], server: str) -> bool:
        if self._is_ill:
            return False
        self._is_ill = True
        harm(server)
        self.later(self.chance.choice(_SECONDS), self._heal)
        return True

    def _heal(self) -> None:
        self.network.heal()
        self._is_ill = False

    def _delay(self, server: str) -> None:
        delay = self.chance.choice(_DELAYS_MS)
        self.network.poison(server, "latency", *BOTH, latency=delay, jitter=delay // _JITTER)

    def _trickle(self, server: str) -> None:
        self.network.poison(server, "bandwidth", *BOTH, rate=self.chance.choice(_KILOBYTES))

    def _slice(self, server: str) -> None:
        size = self.chance.choice(_PIECE_BYTES)
        self.network.poison(
            server, "slicer", *BOTH, average_size=size, size_variation=size // 2, delay=_PIECE_MICROSECONDS
        )

    def _silence(self, server: str) -> None:
        """Connections stay open, and what is sent one way gets lost; they end when it is over."""
        self.network.poison(server, "timeout", self.chance.choice(BOTH), timeout=0)

    def _reset(self, server: str) -> None:
        """As of a firewall that forgot them."""
        self.network.poison(server, "reset_peer", self.chance.choice(BOTH), timeout=0)

    def _tear(self, server: str) -> None:
        """Each connection ends after so many bytes, wherever in a message that is."""
        self.network.poison(server, "limit_data", self.chance.choice(BOTH), bytes=self.chance.choice(_TORN_AFTER_BYTES))

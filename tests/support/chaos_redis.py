"""Redis, emptied, silenced and damaged while brokers keep snapshots in it and start from them."""

import random
from dataclasses import dataclass

from tamis.broker.configuration import RedisSettings
from tamis.broker.redis import RedisError, connect

_SILENT_MS = (300, 3_000, 8_000)
"""Up to several times what a broker waits for an answer."""
_HARMED_MAX = 3


@dataclass
class RedisFaults:
    settings: RedisSettings
    chance: random.Random

    def __post_init__(self) -> None:
        self._client = connect(self.settings, 0.5)

    def empty(self) -> bool:
        """As one that was restarted without its data."""
        return self._does("FLUSHALL")

    def silence(self) -> bool:
        """Connections stay open, and nobody answers for a while."""
        return self._does("CLIENT", "PAUSE", str(self.chance.choice(_SILENT_MS)), "ALL")

    def damage(self) -> bool:
        """A byte of some values is another one, or they are cut short, or gone."""
        try:
            keys = sorted(self._client.keys("*"))
            for key in self.chance.sample(keys, min(len(keys), _HARMED_MAX)):
                place = self.chance.randrange(max(1, self._client.strlen(key)))
                match self.chance.randrange(3):
                    case 0:
                        self._client.setrange(key, place, self.chance.randbytes(1))
                    case 1:
                        self._client.set(key, self._client.getrange(key, 0, place), keepttl=True)
                    case _:
                        self._client.delete(key)
        except RedisError:
            return False
        return bool(keys)

    def _does(self, *command: str) -> bool:
        try:
            self._client.execute_command(*command)  # type: ignore[no-untyped-call]
        except RedisError:
            return False
        return True

"""Redis as Tamis uses it: the one module that imports the client library."""

from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import RedisError, WatchError
from redis.retry import Retry

from tamis.broker.configuration import RedisSettings

__all__ = ["Pipeline", "Redis", "RedisError", "WatchError", "connect"]

_SOCKET_SECONDS = 5.0


def connect(settings: RedisSettings, seconds: float = _SOCKET_SECONDS) -> Redis:
    """A client whose every wait is bounded, and that tries once; it connects with its first command."""
    options: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }
    return Redis.from_url(settings.url, **{**options, **settings.extra})

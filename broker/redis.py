"""Redis as Tamis uses it: the one module that imports the client library."""

from typing import Any

from redis import Redis
from redis.exceptions import RedisError

from tamis.broker.configuration import RedisSettings

__all__ = ["Redis", "RedisError", "connect"]

_SOCKET_SECONDS = 5.0


def connect(settings: RedisSettings) -> Redis:
    """A client whose every wait is bounded; it connects with its first command."""
    options: dict[str, Any] = {"socket_timeout": _SOCKET_SECONDS, "socket_connect_timeout": _SOCKET_SECONDS}
    return Redis.from_url(settings.url, **{**options, **settings.extra})

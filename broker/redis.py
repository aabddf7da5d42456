"""Redis as Tamis uses it: the one module that imports the client library."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.exceptions import RedisError, WatchError
from redis.exceptions import TimeoutError as TooSlowError
from redis.retry import Retry

from tamis.broker.configuration import RedisSettings

__all__ = ["Pipeline", "Redis", "RedisError", "TooSlowError", "WatchError", "connect", "cut_off"]

_SOCKET_SECONDS = 5.0
_AGAIN_SECONDS = 1.0


def connect(settings: RedisSettings, seconds: float = _SOCKET_SECONDS) -> Redis:
    """A client whose every wait is bounded, and that tries once; it connects with its first command."""
    options: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }
    return Redis.from_url(settings.url, **{**options, **settings.extra})


@contextmanager
def cut_off(client: Redis, seconds: float) -> Iterator[None]:
    """Whatever waits for Redis in this block, after so long, is a TooSlowError.

    Time-outs of sockets are for the next bytes, and an answer may come a byte at a time.
    """
    ended = threading.Event()
    is_cut = False

    def cut() -> None:
        nonlocal is_cut
        wait = seconds
        while not ended.wait(wait):  # again, since the next command connects anew
            is_cut, wait = True, _AGAIN_SECONDS
            client.connection_pool.disconnect()

    thread = threading.Thread(target=cut, name="redis-cut-off", daemon=True)
    thread.start()
    try:
        yield
    except (RedisError, OSError, ValueError, AttributeError) as error:  # what a client says under which it is cut
        if not is_cut:
            raise
        raise TooSlowError(f"Redis has not told all in {seconds:g} s") from error
    finally:
        ended.set()
        thread.join()

"""Redis as Tamis uses it: the one module that imports the client library."""

import re
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from typing import Any

from redis import Redis
from redis.backoff import NoBackoff
from redis.client import Pipeline
from redis.connection import URL_QUERY_ARGUMENT_PARSERS, parse_url
from redis.exceptions import RedisError, WatchError
from redis.exceptions import TimeoutError as TooSlowError
from redis.retry import Retry

from tamis.broker.configuration import RedisSettings
from tamis.broker.errors import ConfigurationError

__all__ = ["Pipeline", "Redis", "RedisError", "TooSlowError", "WatchError", "connect", "cut_off"]

_SOCKET_SECONDS = 5.0
_AGAIN_SECONDS = 1.0
_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")
_WRONG_OPTION = "Invalid value for"
_ORIGIN = "tamis config show --origin tells who said so."


def connect(settings: RedisSettings, seconds: float = _SOCKET_SECONDS) -> Redis:
    """A client whose every wait is bounded, and that tries once; it connects with its first command.

    ConfigurationError if the client library does not take its URL or its options.
    """
    options: dict[str, Any] = {
        "socket_timeout": seconds,
        "socket_connect_timeout": seconds,
        "retry": Retry(NoBackoff(), 0),
    }
    options |= _typed(settings.extra)
    try:
        parse_url(settings.url)  # type: ignore[no-untyped-call]
    except ValueError as error:  # which may tell a part of a password
        if str(error).startswith(_WRONG_OPTION):
            raise ConfigurationError(f"redis.url: {error} {_ORIGIN}") from error
        raise ConfigurationError(
            "redis.url is none of Redis: redis://[USER:PASSWORD@]HOST:PORT/DB, rediss:// for TLS, or unix:///PATH; in "
            "a password what is no letter or digit is written as %XX, and options of redis-py follow a question mark. "
            f"{_ORIGIN}"
        ) from error
    try:
        client = Redis.from_url(settings.url, **options)
        pool = client.connection_pool
        pool.connection_class(**pool.connection_kwargs)  # connects to nothing; else the first command would tell
    except (TypeError, ValueError, RedisError) as error:
        unknown = _UNKNOWN.search(str(error))
        raise ConfigurationError(
            "redis-py does not take the options in redis.extra and redis.url: "
            f"{f'there is no {unknown[1]}' if unknown else error}. {_ORIGIN}"
        ) from error
    if pool.connection_kwargs.get("decode_responses"):
        raise ConfigurationError(f"Snapshots are bytes, and decode_responses wants text. Leave it out. {_ORIGIN}")
    return client


def _typed(extra: Mapping[str, str | float | bool]) -> dict[str, Any]:
    """As the client library wants them: what comes from a variable or a file is text, as it is in a URL."""
    typed: dict[str, Any] = {}
    for name, value in extra.items():
        parse: Any = URL_QUERY_ARGUMENT_PARSERS.get(name) if isinstance(value, str) else None
        try:
            typed[name] = value if parse is None else parse(value)
        except ValueError as error:
            raise ConfigurationError(f"redis.extra.{name} = {value!r}: {error}. {_ORIGIN}") from error
    return typed


@contextmanager
def cut_off(client: Redis, seconds: float) -> Iterator[None]:
    """Whatever waits for an answer of Redis in this block, after so long, is a TooSlowError.

    Time-outs of sockets are for the next bytes, and an answer may come a byte at a time.
    """
    ended = threading.Event()
    is_cut = False

    def cut() -> None:
        nonlocal is_cut
        wait = seconds
        while not ended.wait(wait):  # again, since the next command connects anew
            is_cut, wait = True, _AGAIN_SECONDS
            with suppress(Exception):  # what it is in the midst of may end just now
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

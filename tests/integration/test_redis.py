import pytest
from redis.client import Pipeline

from tamis.broker.configuration import RedisSettings, Settings
from tamis.broker.redis import Redis, RedisError, connect


@pytest.fixture
def redis(settings: Settings) -> Redis:
    return connect(settings.redis)


def test_bytes_come_back_as_they_went(redis: Redis, unique: str) -> None:
    value = bytes(range(256)) * 16384
    redis.set(unique, value, ex=60)
    assert redis.get(unique) == value
    redis.delete(unique)


def test_a_pointer_flips_only_if_nobody_else_flipped_it(redis: Redis, unique: str) -> None:
    """What keeps two writers of snapshots from overwriting each other: WATCH, MULTI, EXEC."""
    redis.set(unique, b"1", ex=60)
    seen: list[object] = []

    def flip(pipeline: Pipeline) -> None:
        seen.append(pipeline.get(unique))
        if len(seen) == 1:
            redis.set(unique, b"2", ex=60)
        pipeline.multi()
        pipeline.set(unique, b"3", ex=60)

    redis.transaction(flip, unique)
    assert seen == [b"1", b"2"], "the first try came to nothing, and the second saw the other's value"
    assert redis.get(unique) == b"3"


def test_a_redis_that_is_not_there_is_an_error_at_once() -> None:
    with pytest.raises(RedisError):
        connect(RedisSettings(url="redis://127.0.0.1:1/0")).ping()

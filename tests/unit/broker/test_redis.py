"""What is wrong with Redis's settings is told before anything is asked of it."""

import pytest

from tamis.broker.configuration import RedisSettings
from tamis.broker.errors import ConfigurationError
from tamis.broker.redis import connect

Extra = dict[str, str | int | float | bool]


@pytest.mark.parametrize("url", ["localhost:6379", "", "http://h:6379/0", "redis://:hush/hush@h:6379/0"])
def test_a_url_that_is_none_is_an_error_of_the_configuration(url: str) -> None:
    with pytest.raises(ConfigurationError, match=r"redis\.url is none of Redis: redis://") as caught:
        connect(RedisSettings(url=url))
    assert "hush" not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "extra", "said"),
    [
        ("redis://h", {"sokcet_timeout": 5}, r"redis\.extra and redis\.url: there is no sokcet_timeout\."),
        ("redis://h?sokcet_timeout=5", {}, r"redis\.extra and redis\.url: there is no sokcet_timeout\."),
        ("unix:///run/redis.sock", {"host": "h"}, r"there is no host\."),
        ("rediss://h", {"ssl_cert_reqs": "perhaps"}, "perhaps"),
        ("redis://h", {"max_connections": -1}, "max_connections"),
        ("redis://h", {"socket_timeout": "soon"}, r"redis\.extra\.socket_timeout = 'soon'"),
    ],
)
def test_so_is_an_option_that_the_client_does_not_take(url: str, extra: Extra, said: str) -> None:
    with pytest.raises(ConfigurationError, match=said):
        connect(RedisSettings(url=url, extra=extra))


def test_options_from_variables_which_are_text_are_numbers_where_the_client_wants_some() -> None:
    client = connect(
        RedisSettings(url="redis://h", extra={"socket_timeout": "9", "max_connections": "1", "username": "1"})
    )
    found = client.connection_pool.connection_kwargs
    assert (found["socket_timeout"], found["username"]) == (9.0, "1")
    assert client.connection_pool.max_connections == 1
    client.connection_pool.make_connection()  # the one that there may be is not used up

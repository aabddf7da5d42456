"""A service's log: JSON for machines, lines for people, and no secrets in either."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from tamis.broker.logs import configure_logging

LOG = logging.getLogger("tamis.test")


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def fail(word: str, _password: str = "") -> None:
    try:
        int(word)
    except ValueError:
        LOG.exception("failed")


@pytest.fixture(autouse=True)
def _kept() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_each_record_is_a_line_of_json() -> None:
    stream = io.StringIO()
    configure_logging("info", stream)
    LOG.info("committed", extra={"events": 3})
    LOG.warning("invalid subscription at %s [%d]: %s", "tamis.subscriptions", 3, "two\nlines, and café")
    LOG.debug("not this one")
    first, second = (json.loads(line) for line in stream.getvalue().splitlines())
    assert (first["event"], first["level"], first["logger"], first["events"]) == ("committed", "info", "tamis.test", 3)
    assert first["timestamp"].endswith("Z")
    assert second["event"] == "invalid subscription at tamis.subscriptions [3]: two\nlines, and café"


def test_an_exception_is_in_its_record() -> None:
    stream = io.StringIO()
    configure_logging("info", stream)
    fail("told")
    (record,) = map(json.loads, stream.getvalue().splitlines())
    assert "ValueError: invalid literal" in record["exception"]


def test_on_a_terminal_there_are_lines_to_read() -> None:
    stream = Terminal()
    configure_logging("info", stream)
    LOG.info("committed", extra={"events": 3})
    assert "committed" in stream.getvalue()
    assert not stream.getvalue().startswith("{")


def test_colours_are_for_those_who_want_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    stream = Terminal()
    configure_logging("info", stream)
    LOG.info("committed")
    assert "\x1b" not in stream.getvalue()


def test_a_traceback_does_not_show_what_variables_hold() -> None:
    stream = Terminal()
    configure_logging("info", stream)
    fail("told", "-".join(2 * ["hush"]))
    assert "ValueError" in stream.getvalue()
    assert "hush-hush" not in stream.getvalue()

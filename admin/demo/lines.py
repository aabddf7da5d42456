"""The demo as lines of text, where there is no terminal to draw on."""

import time
from collections.abc import Callable
from textwrap import fill

from tamis.admin.demo.stage import Work
from tamis.codecs.subscription import Subscription

_WIDTH = 88
_INDENT = " " * 11


class Lines:
    """A stage of lines, each with the seconds since it opened."""

    def __init__(self, write: Callable[[str], None]) -> None:
        self._write = write
        self._began = time.monotonic()

    def say(self, text: str) -> None:
        self._write("")
        self._write(f"{self._time} == {fill(text, _WIDTH, subsequent_indent=_INDENT)}")

    def work(self, work: Work) -> None:
        self._write(f"{self._time} broker: {work}")

    def count(self, events: int, notifications: int, waiting: int) -> None:
        """Numbers that change all the time are nothing for lines."""

    def subscribed(self, subscription: Subscription) -> None:
        self._write(
            f"{self._time} {subscription.subscriber} subscribes, {subscription.name}: {subscription.expression}"
        )

    def unsubscribed(self, subscription: Subscription) -> None:
        self._write(f"{self._time} {subscription.subscriber} unsubscribes, {subscription.name}")

    def offered(self, number: int, text: str) -> None:
        self._write(f"{self._time} offer {number}: {text}")

    def notified(self, subscriber: str, number: int, text: str, names: str) -> None:  # noqa: ARG002 - a stage's signature
        self._write(f"{self._time}     -> {subscriber} gets offer {number} ({names})")

    @property
    def _time(self) -> str:
        return f"{time.monotonic() - self._began:5.1f} s"

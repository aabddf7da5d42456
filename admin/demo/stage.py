"""What the audience is shown, whatever it is shown on."""

from enum import StrEnum
from typing import Protocol

from tamis.codecs.subscription import Subscription


class Work(StrEnum):
    """What the broker does."""

    MATCHING = "matching"
    DEAD = "dead: kill -9"
    COMING_BACK = "coming back"


class Stage(Protocol):
    """Is told everything as it happens, by several threads. It keeps nobody waiting."""

    def say(self, text: str) -> None:
        """What happens now, and why one should look."""

    def work(self, work: Work) -> None:
        """What the broker does from now on."""

    def count(self, events: int, notifications: int, waiting: int) -> None:
        """How many were sent, how many notifications were read, and how many events wait for the broker."""

    def subscribed(self, subscription: Subscription) -> None:
        """From now on it is in force."""

    def unsubscribed(self, subscription: Subscription) -> None:
        """From now on it is not."""

    def offered(self, number: int, text: str) -> None:
        """An event was sent."""

    def notified(self, subscriber: str, number: int, text: str, names: str) -> None:
        """A notification was read: of that event, for the subscriptions of these names."""


class Nobody:
    """An empty house: for whoever wants the summary only."""

    def say(self, text: str) -> None: ...
    def work(self, work: Work) -> None: ...
    def count(self, events: int, notifications: int, waiting: int) -> None: ...
    def subscribed(self, subscription: Subscription) -> None: ...
    def unsubscribed(self, subscription: Subscription) -> None: ...
    def offered(self, number: int, text: str) -> None: ...
    def notified(self, subscriber: str, number: int, text: str, names: str) -> None: ...

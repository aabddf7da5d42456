"""Reading what subscribers get, as any consumer does that sees committed data only."""

import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from tamis.admin.demo.shop import told
from tamis.admin.demo.stage import Stage
from tamis.admin.errors import StackError
from tamis.broker.configuration import Settings
from tamis.broker.kafka import (
    Message,
    TopicPartition,
    admin_client,
    consumer,
    end_offsets,
    headers_of,
    is_end,
    offset_of,
    place_of,
)
from tamis.broker.reading import BEGINNING, TELLING_ENDS
from tamis.codecs.event import Event
from tamis.codecs.headers import VIEW
from tamis.codecs.notification import Notification

_GROUP = "tamis-demo"
"""It joins none; the client wants a name all the same."""
_AT_ONCE = 2000
_POLL_SECONDS = 0.05


@dataclass(frozen=True, slots=True)
class Seen:
    """A notification, as its subscriber had it."""

    subscriber: str
    value: bytes
    view: str


class Audience:
    """Reads the topics of some subscribers, each from its beginning, for as long as it is open."""

    def __init__(self, settings: Settings, subscribers: Iterable[str], stage: Stage) -> None:
        self.seen: list[Seen] = []
        self.last_at = 0.0
        """When the newest one came."""
        self.is_telling = True
        """Whether the stage is told of each; at some thousands a second nobody could look."""
        self._subscribers = {settings.names.notifications(subscriber): subscriber for subscriber in subscribers}
        self._stage = stage
        self._admin = admin_client(settings.kafka)
        self._client = consumer(settings.kafka, _GROUP, TELLING_ENDS)
        self._reached = dict.fromkeys(self._subscribers, 0)
        self._stopping = threading.Event()
        self._failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, name="audience")

    def __enter__(self) -> Self:
        self._client.assign([TopicPartition(topic, 0, BEGINNING) for topic in self._subscribers])
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stopping.set()
        self._thread.join()
        self._client.close()

    def has_read_all(self) -> bool:
        """Whether it is at the end of every topic; while a transaction is open there, it is not."""
        if self._failure is not None:
            raise StackError(f"Notifications cannot be read: {self._failure}.") from self._failure
        return all(end_offsets(self._admin, topic, [0])[0] <= reached for topic, reached in self._reached.items())

    def _run(self) -> None:
        try:
            while not self._stopping.is_set():
                for message in self._client.consume(_AT_ONCE, _POLL_SECONDS):
                    self._take(message)
        except Exception as error:  # noqa: BLE001 - whoever waits for this thread is told
            self._failure = error

    def _take(self, message: Message) -> None:
        topic, _ = place_of(message)
        if is_end(message):
            self._reached[topic] = offset_of(message)
            return
        subscriber = self._subscribers[topic]
        value = message.value() or b""
        self.seen.append(Seen(subscriber, value, dict(headers_of(message))[VIEW].decode()))
        self.last_at = time.monotonic()
        if self.is_telling:
            notification = Notification.decode(value)
            offer = Event.decode(notification.event or b"")
            names = ", ".join(match.name for match in notification.matches)
            text = told({name: value for name, value in offer.attributes.items() if value is not None})
            self._stage.notified(subscriber, int(offer.id), text, names)

"""Between clients and a Kafka: what loses a request, or the answer to one that Kafka has carried out, or is slow.

Only a connection that breaks loses something; which of the two it was, a client cannot know.
"""

import contextlib
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from enum import Enum, auto
from typing import Self

from tamis.admin.local.ports import Ports
from tamis.admin.local.stack import StackOptions
from tamis.broker.configuration import KafkaSettings

PRODUCE, OFFSET_FETCH, INIT_PRODUCER_ID = 0, 9, 22
ADD_PARTITIONS_TO_TXN, ADD_OFFSETS_TO_TXN, END_TXN, TXN_OFFSET_COMMIT = 24, 25, 26, 28
CONSUMER_GROUP_HEARTBEAT = 68
VICTIM = "victim"
"""The name of the clients that something happens to; all others have a sound network."""


class Fate(Enum):
    """Of a request. Where something is lost, the connection is, too."""

    PASSED = auto()
    REQUEST_LOST = auto()
    ANSWER_LOST = auto()


def _passed(_api: int) -> Fate:
    return Fate.PASSED


class KafkaProxy:
    """Listens from the beginning of a block to its end, for a Kafka that names it as its own address."""

    def __init__(self, kafka_port: int) -> None:
        self.fate: Callable[[int], Fate] = _passed
        """Is asked for each request of a victim, by the number of its kind; of one at a time."""
        self.lost: Counter[tuple[int, Fate]] = Counter()
        self._delay = 0.0
        self._is_sound = threading.Event()
        self._kafka_port = kafka_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: set[socket.socket] = set()
        self._lock = threading.Lock()

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._listener.close()
        self.heal()
        with self._lock:
            for each in self._sockets:
                _shut(each)

    @property
    def is_harmful(self) -> bool:
        return self.fate is not _passed or self._delay > 0

    def slow(self, seconds: float) -> None:
        """Each request of a victim and each answer is held for so long, or until it is healed."""
        self._is_sound.clear()
        self._delay = seconds

    def heal(self) -> None:
        self.fate = _passed
        self._delay = 0.0
        self._is_sound.set()

    def hold(self) -> None:
        if self._delay:
            self._is_sound.wait(self._delay)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):  # that the listener is closed
            while True:
                client, _ = self._listener.accept()
                client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                _Connection(self, client, self._kafka_port).start()

    def remember(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._sockets.update(sockets)

    def forget(self, *sockets: socket.socket) -> None:
        with self._lock:
            self._sockets.difference_update(sockets)

    def decide(self, api: int, client: str) -> Fate:
        if client != VICTIM:
            return Fate.PASSED
        with self._lock:
            fate = self.fate(api)
            if fate is not Fate.PASSED:
                self.lost[api, fate] += 1
        return fate


class _Connection:
    def __init__(self, proxy: KafkaProxy, client: socket.socket, kafka_port: int) -> None:
        self._proxy = proxy
        self._client = client
        self._kafka_port = kafka_port
        self._doomed: set[int] = set()
        """Requests whose answers are lost, by their numbers."""
        self._is_victims = False

    def start(self) -> None:
        threading.Thread(target=self._carry, daemon=True).start()

    def _carry(self) -> None:
        try:
            kafka = socket.create_connection(("127.0.0.1", self._kafka_port))
        except OSError:
            self._client.close()
            return
        kafka.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._proxy.remember(self._client, kafka)
        back = threading.Thread(target=self._carry_answers, args=(kafka,), daemon=True)
        back.start()
        self._carry_requests(kafka)
        back.join()
        self._proxy.forget(self._client, kafka)
        self._client.close()
        kafka.close()

    def _carry_requests(self, kafka: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(self._client):
                api, number = int.from_bytes(frame[4:6], "big"), int.from_bytes(frame[8:12], "big")
                size = int.from_bytes(frame[12:14], "big", signed=True)
                client = frame[14 : 14 + max(size, 0)].decode()
                self._is_victims = client == VICTIM
                self._hold()
                fate = self._proxy.decide(api, client)
                if fate is Fate.REQUEST_LOST:
                    break
                if fate is Fate.ANSWER_LOST:
                    self._doomed.add(number)
                kafka.sendall(frame)
        _shut(self._client)
        _shut(kafka)

    def _carry_answers(self, kafka: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while frame := _frame(kafka):
                if int.from_bytes(frame[4:8], "big") in self._doomed:
                    break
                self._hold()
                self._client.sendall(frame)
        _shut(self._client)
        _shut(kafka)

    def _hold(self) -> None:
        if self._is_victims:
            self._proxy.hold()


def _frame(source: socket.socket) -> bytes:
    """With its length in front; empty at the end."""
    head = _exactly(source, 4)
    body = _exactly(source, int.from_bytes(head, "big")) if head else b""
    return head + body if body else b""


def _exactly(source: socket.socket, size: int) -> bytes:
    parts = []
    while size > 0:
        part = source.recv(min(size, 1 << 20))
        if not part:
            return b""
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def _shut(either: socket.socket) -> None:
    with contextlib.suppress(OSError):
        either.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def proxied(options: StackOptions) -> Iterator[tuple[KafkaProxy, StackOptions]]:
    """What all clients of one Kafka broker will reach it through, and how it is to be started."""
    ports = Ports()
    kafka_port = ports.claim()
    ports.release()
    with KafkaProxy(kafka_port) as proxy:
        own = {"advertised.listeners": f"CLIENT://127.0.0.1:{proxy.port}"}
        yield proxy, replace(options, kafka_port=kafka_port, properties={**options.properties, **own})


def victim(settings: KafkaSettings) -> KafkaSettings:
    """As somebody to whom things happen."""
    return settings.model_copy(update={"extra": settings.extra | {"client.id": VICTIM}})

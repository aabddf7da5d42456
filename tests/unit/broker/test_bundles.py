"""What becomes of a bundle whose transaction fails: sent again, or told why not."""

import time
from collections.abc import Callable

import pytest

from tamis.broker import bundles, rejected_retry
from tamis.broker.bundles import BYTES_MAX, Bundles, Record, bundled
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.errors import ConflictError, UnreachableError
from tamis.broker.kafka import TRANSACTION_SECONDS, KafkaError, KafkaException
from tamis.codecs.headers import WaitingPlace

SETTINGS = KafkaSettings(bootstrap_servers="127.0.0.1:1")
RECORDS = [Record("t", 0, None, b"1"), Record("t", 0, None, b"2")]
ABORTABLE = KafkaError(KafkaError._INCONSISTENT, "records failed", txn_requires_abort=True)
FENCED = KafkaError(KafkaError._FENCED, "fenced", fatal=True)
MIB = 1 << 20


class Kafka:
    """Ends the first transactions after so many seconds each, as a cluster does that is slow, or has another client."""

    def __init__(self, *lasted: float) -> None:
        self.lasted = list(lasted)
        self.now = time.monotonic()
        self.clients = 0
        self.fails_in_produce = False
        self.unlucky = 0
        """How many of the next transactions are to be aborted."""
        self.committed: list[bytes] = []

    def client(self, *_: object) -> "Client":
        self.clients += 1
        return Client(self)


class Client:
    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._is_fenced = False
        self._sent: list[bytes] = []

    def init_transactions(self, _seconds: float) -> None:
        pass

    def begin_transaction(self) -> None:
        self._sent.clear()

    def produce(self, _topic: str, value: bytes, *_: object, **__: object) -> None:
        if self._kafka.fails_in_produce and self._is_ended():
            raise KafkaException(KafkaError(KafkaError._STATE))
        self._sent.append(value)

    def commit_transaction(self, _seconds: float) -> None:
        if self._kafka.unlucky:
            self._kafka.unlucky -= 1
            raise KafkaException(ABORTABLE)
        if self._is_ended():
            raise KafkaException(FENCED)
        self._kafka.committed += self._sent

    def abort_transaction(self, _seconds: float) -> None:
        if self._is_fenced:
            raise KafkaException(FENCED)

    def _is_ended(self) -> bool:
        if self._kafka.lasted and not self._is_fenced:
            self._is_fenced = True
            self._kafka.now += self._kafka.lasted.pop(0)
        return self._is_fenced


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> Callable[[Kafka], Bundles]:
    def begin(kafka: Kafka) -> Bundles:
        monkeypatch.setattr(bundles, "producer", kafka.client)
        monkeypatch.setattr(time, "monotonic", lambda: kafka.now)
        return Bundles(SETTINGS, "name")

    return begin


@pytest.mark.parametrize("fails_in_produce", [False, True])
def test_what_took_too_long_is_sent_by_a_new_client(
    begun: Callable[[Kafka], Bundles],
    fails_in_produce: bool,  # noqa: FBT001
) -> None:
    kafka = Kafka(TRANSACTION_SECONDS + 5)
    kafka.fails_in_produce = fails_in_produce
    begun(kafka).send(RECORDS)
    assert kafka.committed == [b"1", b"2"]
    assert kafka.clients == 2


def test_what_was_aborted_is_sent_by_a_new_client(begun: Callable[[Kafka], Bundles]) -> None:
    """The old one might give its numbers to what comes next."""
    kafka = Kafka()
    kafka.unlucky = 2
    begun(kafka).send(RECORDS)
    assert (kafka.committed, kafka.clients) == ([b"1", b"2"], 3)


def test_what_always_takes_too_long_is_given_up_and_nobody_else_is_named(begun: Callable[[Kafka], Bundles]) -> None:
    kafka = Kafka(*[TRANSACTION_SECONDS + 5] * 9)
    with pytest.raises(UnreachableError, match="aborted again and again"):
        begun(kafka).send(RECORDS)
    assert kafka.committed == []


@pytest.mark.parametrize("fails_in_produce", [False, True])
def test_a_young_transaction_is_ended_by_somebody_else(
    begun: Callable[[Kafka], Bundles],
    fails_in_produce: bool,  # noqa: FBT001
) -> None:
    kafka = Kafka(1)
    kafka.fails_in_produce = fails_in_produce
    with pytest.raises(ConflictError, match="Somebody else has begun to send as name"):
        begun(kafka).send(RECORDS)
    assert (kafka.committed, kafka.clients) == ([], 1)


def test_what_is_there_after_all_is_not_sent_again(begun: Callable[[Kafka], Bundles]) -> None:
    kafka = Kafka(TRANSACTION_SECONDS + 5)
    begun(kafka).send(RECORDS, lambda: kafka.clients == 2)
    assert kafka.committed == []


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [
        ([], []),
        ([1] * 7, [3, 3, 1]),
        ([BYTES_MAX - MIB, MIB, 1], [2, 1]),
        ([9 * BYTES_MAX, 1, 9 * BYTES_MAX], [1, 1, 1]),
    ],
)
def test_bundles_are_bounded_by_count_and_bytes(sizes: list[int], counts: list[int]) -> None:
    made = list(bundled(sizes, 3, lambda size: size))
    assert [len(some) for some in made] == counts
    assert [size for some in made for size in some] == sizes


def test_rejected_events_that_others_settled_meanwhile_are_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    before, mine, others = ({WaitingPlace(0, offset) for offset in range(start, start + 3)} for start in (0, 3, 6))

    def asked(found: set[WaitingPlace]) -> bool:
        monkeypatch.setattr(rejected_retry, "complete", lambda *_: Settled(before | found))
        return rejected_retry._are_settled(Settings(kafka=SETTINGS), mine, before)

    assert not asked(set())
    assert asked(mine)
    for found in (others, mine | others, {WaitingPlace(0, 3)}):
        with pytest.raises(ConflictError):
            asked(found)


class Settled:
    def __init__(self, places: set[WaitingPlace]) -> None:
        self._places = places

    def settled(self) -> set[WaitingPlace]:
        return self._places

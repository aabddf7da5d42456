"""When whoever retries may go on with the producer whose transaction failed."""

from collections.abc import Callable

import pytest

from tamis.broker import undelivered_outbox
from tamis.broker.configuration import KafkaSettings, Settings
from tamis.broker.kafka import KafkaError, KafkaException
from tamis.broker.transactions import RebuildError
from tamis.broker.undelivered_outbox import RetryOutbox
from tamis.broker.undelivered_ready import Ready
from tamis.codecs.headers import WaitingPlace

READY = Ready(WaitingPlace(0, 0), "ann", "t", 0, b"value", None, {})
TOO_LARGE = KafkaError.MSG_SIZE_TOO_LARGE


class Client:
    """Fails each transaction, and says of each of its records what it is told to; of none, if it has no answer."""

    def __init__(self, *codes: int | None) -> None:
        self._codes = codes
        self._told: list[Callable[[KafkaError, object], None]] = []
        self.aborts = 0

    def __len__(self) -> int:
        return self._codes.count(None)

    def init_transactions(self, _seconds: float) -> None:
        pass

    def begin_transaction(self) -> None:
        pass

    def produce(self, *_: object, on_delivery: Callable[[KafkaError, object], None], **__: object) -> None:
        self._told.append(on_delivery)

    def flush(self, _seconds: float) -> int:
        for told, code in zip(self._told, self._codes, strict=True):
            if code:
                told(KafkaError(code), None)
        return len(self)

    def commit_transaction(self, _seconds: float) -> None:
        raise KafkaException(KafkaError(KafkaError._INCONSISTENT, "records failed", txn_requires_abort=True))

    def abort_transaction(self, _seconds: float) -> None:
        self.aborts += 1


def outbox_of(client: Client, monkeypatch: pytest.MonkeyPatch) -> RetryOutbox:
    monkeypatch.setattr(undelivered_outbox, "producer", lambda *_: client)
    return RetryOutbox(Settings(kafka=KafkaSettings(bootstrap_servers="127.0.0.1:1")))


def test_where_each_record_was_acknowledged_or_refused_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    client = Client(TOO_LARGE, 0)
    outbox = outbox_of(client, monkeypatch)
    assert not outbox.is_committed([READY])
    assert outbox.refused == {READY.place: KafkaError(TOO_LARGE)}
    assert client.aborts == 1


@pytest.mark.parametrize("code", [KafkaError._PURGE_QUEUE, KafkaError._PURGE_INFLIGHT, None])
@pytest.mark.parametrize("is_own", [False, True])
def test_where_kafka_may_have_what_was_dropped_it_begins_anew(
    monkeypatch: pytest.MonkeyPatch,
    code: int | None,
    is_own: bool,  # noqa: FBT001
) -> None:
    client = Client(0, code) if is_own else Client(code, 0)
    outbox = outbox_of(client, monkeypatch)
    with pytest.raises(RebuildError, match="dropped records"):
        outbox.is_committed([READY])
    assert client.aborts == 1
    assert outbox.refused == {}

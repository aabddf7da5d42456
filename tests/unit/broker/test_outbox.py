"""What is known of a transaction that a client does not take."""

import pytest

from tamis.broker import outbox
from tamis.broker.configuration import KafkaSettings
from tamis.broker.kafka import KafkaError, KafkaException
from tamis.broker.outbox import Outbox, TooLargeError


class Client:
    """Takes nothing, and says why at once."""

    def __init__(self, code: int) -> None:
        self.error = KafkaError(code)
        self.is_full = False

    def init_transactions(self, _seconds: float) -> None:
        pass

    def begin_transaction(self) -> None:
        pass

    def poll(self, _seconds: float) -> None:
        pass

    def produce(self, *_: object, **__: object) -> None:
        if self.is_full:
            self.is_full = False
            raise BufferError
        raise KafkaException(self.error)


def outbox_of(client: Client, monkeypatch: pytest.MonkeyPatch) -> Outbox:
    monkeypatch.setattr(outbox, "producer", lambda *_, **__: client)
    made = Outbox(KafkaSettings(bootstrap_servers="127.0.0.1:1"), "name")
    made.begin()
    return made


@pytest.mark.parametrize("is_full", [False, True])
def test_what_the_client_refuses_at_once_is_known_by_its_topic(monkeypatch: pytest.MonkeyPatch, is_full: bool) -> None:  # noqa: FBT001
    client = Client(KafkaError._UNKNOWN_PARTITION)
    mine = outbox_of(client, monkeypatch)
    client.is_full = is_full
    with pytest.raises(KafkaException):
        mine.send("t", b"value", None, partition=3)
    assert mine.failures == {"t": client.error}
    mine.begin()
    assert mine.failures == {}


@pytest.mark.parametrize("is_full", [False, True])
def test_what_is_too_large_for_the_client_is_no_failure_of_its_topic(
    monkeypatch: pytest.MonkeyPatch,
    is_full: bool,  # noqa: FBT001
) -> None:
    client = Client(KafkaError.MSG_SIZE_TOO_LARGE)
    mine = outbox_of(client, monkeypatch)
    client.is_full = is_full
    with pytest.raises(TooLargeError):
        mine.send("t", b"value", None)
    assert mine.failures == {}

"""What to do about each error of a transaction, in one place.

Four things can be done. The same call can be made again; the transaction can be aborted, and its events be read again;
the clients can be thrown away, since after a fence or an unknown outcome nothing else is safe; or the process can stop,
since only a human can mend it.
"""

import logging
import time
from collections.abc import Callable
from enum import Enum, auto
from typing import NoReturn

from tamis.broker.errors import BrokerError, ConflictError, InvalidError, UnreachableError
from tamis.broker.kafka import (
    FENCED,
    FORBIDDEN,
    TOO_OLD,
    TOPIC_FORBIDDEN,
    TRANSACTION_SECONDS,
    KafkaError,
    KafkaException,
    Producer,
    called,
    is_fatal,
)

_LOG = logging.getLogger(__name__)
BUDGET_SECONDS = 30.0
_PAUSE_SECONDS = 0.01


class Verdict(Enum):
    """What is to be done about an error."""

    RETRY = auto()
    ABORT = auto()
    REBUILD = auto()
    STOP = auto()


class RebuildError(Exception):
    """The clients cannot be used any more; what they had not committed is read again by new ones."""

    def __init__(self, message: str, error: KafkaError | None = None) -> None:
        super().__init__(message)
        self.error = error
        """What Kafka said, if it did."""


def verdict(error: KafkaError) -> Verdict:
    if error.code() in FORBIDDEN or error.code() in TOO_OLD:
        return Verdict.STOP
    if is_fatal(error):
        return Verdict.REBUILD
    if error.txn_requires_abort():
        return Verdict.ABORT
    return Verdict.RETRY if error.retriable() else Verdict.REBUILD


def is_forbidden(error: KafkaError) -> bool:
    """Also where it is about a topic: for whoever cannot do without that one."""
    return error.code() in FORBIDDEN | TOPIC_FORBIDDEN


def last_word(error: KafkaError) -> BrokerError:
    """Why a process stops, for a human."""
    if error.code() in TOO_OLD:
        return InvalidError(f"Kafka 4.0 or newer is needed (the consumer protocol of KIP-848): {error.str()}.")
    if is_forbidden(error):
        return InvalidError(f"Kafka forbids it: {error.str()}. Give this user the rights that docs/rights.md lists.")
    return UnreachableError(f"Kafka: {error.str()}.")


def refuse_if_replaced(error: KafkaError, began: float) -> None:
    """ConflictError if a producer was fenced in a transaction that is too young for Kafka to have ended it.

    Then another process took over its name: the newer one stays, since it may replace a machine that is cut off.
    """
    if error.code() in FENCED and time.monotonic() - began < TRANSACTION_SECONDS:
        raise ConflictError(
            f"Another process has taken this slot: {error.str()}. Give each process a --slot of its own, or none."
        )


def refuse(raised: KafkaException) -> NoReturn:
    """Outside of a transaction: what cannot be mended stops the process, all else is tried again with new clients."""
    error: KafkaError = raised.args[0]
    if verdict(error) is Verdict.STOP:
        raise last_word(error) from raised
    raise RebuildError(error.str(), error) from raised


def begin_transactions(client: Producer, seconds: float) -> None:
    """End what others of its name have open, and fence them; for whoever has no other client to go on with."""
    try:
        transact(client.init_transactions, seconds)
    except RebuildError as error:
        raise UnreachableError(f"Kafka began no transaction: {error}.") from error


def transact(operation: Callable[..., object], *args: object, seconds: float = BUDGET_SECONDS) -> bool:
    """Make a call of a transactional producer until it is decided: True if it is done, False if an abort is needed.

    RebuildError if the producer is not to be used again; a BrokerError if the process is to stop. A commit whose
    outcome is not known is never answered with an abort: the same commit is asked for again.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            called(operation, *args)
        except KafkaException as raised:
            error: KafkaError = raised.args[0]
            match verdict(error):
                case Verdict.STOP:
                    raise last_word(error) from raised
                case Verdict.ABORT:
                    _LOG.warning("a transaction must be aborted: %s", error.str())
                    return False
                case Verdict.RETRY if time.monotonic() < deadline:
                    _LOG.info("trying again: %s", error.str())
                    time.sleep(_PAUSE_SECONDS)
                case _:
                    raise RebuildError(error.str(), error) from raised
        else:
            return True

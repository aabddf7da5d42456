import time
from collections.abc import Callable

import pytest

from tamis.broker.errors import ConflictError, InvalidError
from tamis.broker.kafka import KafkaError, KafkaException, called
from tamis.broker.transactions import RebuildError, Verdict, last_word, refuse_if_replaced, transact, verdict

RETRIABLE = KafkaError(KafkaError.COORDINATOR_LOAD_IN_PROGRESS, "loading", retriable=True)
ABORTABLE = KafkaError(KafkaError.UNKNOWN_MEMBER_ID, "unknown member", txn_requires_abort=True)
FATAL = KafkaError(KafkaError.PRODUCER_FENCED, "fenced", fatal=True)
FORBIDDEN = KafkaError(KafkaError.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "forbidden", fatal=True)
TOO_OLD = KafkaError(KafkaError.UNSUPPORTED_VERSION, "too old")
UNCLEAR = KafkaError(KafkaError.UNKNOWN, "unclear")


class Operation:
    """Fails as it is told, in this order, and then succeeds."""

    def __init__(self, *errors: KafkaError) -> None:
        self.errors = list(errors)
        self.calls = 0

    def __call__(self) -> None:
        self.calls += 1
        if self.errors:
            raise KafkaException(self.errors.pop(0))


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (RETRIABLE, Verdict.RETRY),
        (ABORTABLE, Verdict.ABORT),
        (FATAL, Verdict.REBUILD),
        (UNCLEAR, Verdict.REBUILD),
        (FORBIDDEN, Verdict.STOP),
        (TOO_OLD, Verdict.STOP),
    ],
)
def test_each_error_has_one_answer(error: KafkaError, expected: Verdict) -> None:
    assert verdict(error) is expected


def test_what_may_be_tried_again_is_the_same_call() -> None:
    operation = Operation(RETRIABLE, RETRIABLE)
    assert transact(operation)
    assert operation.calls == 3


def test_an_outcome_that_stays_unknown_is_never_answered_with_an_abort() -> None:
    operation = Operation(*[RETRIABLE] * 1000)
    with pytest.raises(RebuildError):
        transact(operation, seconds=0.05)
    assert operation.calls > 1


def test_what_needs_an_abort_says_so() -> None:
    assert not transact(Operation(ABORTABLE))


def test_a_fatal_error_needs_new_clients_and_is_kept() -> None:
    with pytest.raises(RebuildError, match="fenced") as raised:
        transact(Operation(FATAL))
    assert raised.value.error is not None
    assert raised.value.error.code() == KafkaError.PRODUCER_FENCED


def test_what_no_retry_mends_stops_the_process_with_advice() -> None:
    with pytest.raises(InvalidError, match=r"docs/rights\.md"):
        transact(Operation(FORBIDDEN))
    assert "Kafka 4.0" in str(last_word(TOO_OLD))


def test_a_fence_in_a_young_transaction_is_another_process_and_in_an_old_one_its_own_timeout() -> None:
    with pytest.raises(ConflictError, match="Another process has taken this slot"):
        refuse_if_replaced(FATAL, time.monotonic())
    refuse_if_replaced(FATAL, time.monotonic() - 11.0)
    refuse_if_replaced(UNCLEAR, time.monotonic())


def failing(*errors: SystemError) -> Callable[[], str]:
    """A call of a client that fails in these ways, one after the other."""
    left = list(errors)

    def operation() -> str:
        if left:
            raise left.pop(0)
        return "done"

    return operation


def caused(cause: Exception) -> SystemError:
    error = SystemError("returned a result with an exception set")
    error.__cause__ = cause
    return error


def test_what_a_client_raises_in_the_midst_of_a_call_is_raised() -> None:
    fatal = KafkaException(KafkaError(KafkaError._FENCED, fatal=True))
    for error in (caused(fatal), caused(caused(fatal))):
        with pytest.raises(KafkaException) as raised:
            called(failing(error))
        assert raised.value is fatal
    with pytest.raises(SystemError, match="with an exception set"):
        called(failing(caused(ValueError("a mistake in what it calls"))))


def test_where_a_client_has_dropped_what_it_had_to_raise_it_is_asked_again() -> None:
    dropped = SystemError("returned NULL without setting an exception")
    assert called(failing(dropped)) == "done"
    with pytest.raises(SystemError, match="without setting"):
        called(failing(dropped, dropped))

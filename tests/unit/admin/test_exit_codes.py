import pytest

from tamis.admin.errors import DeclinedError, StackError, UsageError
from tamis.admin.exit_codes import ExitCode, exit_code_of, message_of
from tamis.broker.errors import (
    BrokerError,
    ConfigurationError,
    ConflictError,
    InvalidError,
    MissingError,
    UnreachableError,
)
from tamis.broker.kafka import KafkaError, KafkaException
from tamis.broker.redis import RedisError
from tamis.codecs.errors import RecordError
from tamis.indexes import ExpressionError, parse


def expression_error() -> ExpressionError:
    with pytest.raises(ExpressionError) as caught:
        parse("price <")
    return caught.value


def kafka_error(code: int) -> KafkaException:
    return KafkaException(KafkaError(code))


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DeclinedError(), 1),
        (UsageError(), 2),
        (ConfigurationError(), 2),
        (PermissionError(13, "denied", "file"), 2),
        (StackError(), 3),
        (UnreachableError(), 3),
        (RedisError(), 3),
        (kafka_error(KafkaError._ALL_BROKERS_DOWN), 3),
        (kafka_error(KafkaError.SASL_AUTHENTICATION_FAILED), 3),
        (kafka_error(KafkaError.TOPIC_AUTHORIZATION_FAILED), 3),
        (MissingError(), 4),
        (FileNotFoundError(2, "no such file", "file"), 4),
        (kafka_error(KafkaError.UNKNOWN_TOPIC_OR_PART), 4),
        (ConflictError(), 5),
        (BrokerError(), 5),
        (kafka_error(KafkaError.TOPIC_ALREADY_EXISTS), 5),
        (InvalidError(), 6),
        (expression_error(), 6),
        (RecordError("bad_value", "x"), 6),
        (ValueError(), 70),
        (ZeroDivisionError(), 70),
        (KeyboardInterrupt(), 130),
    ],
)
def test_each_error_has_its_exit_code(error: BaseException, code: int) -> None:
    assert exit_code_of(error) == code


def test_a_mistake_of_ours_is_told_as_one() -> None:
    assert "mistake in Tamis: KeyError: 'x'" in message_of(KeyError("x"))
    assert "--debug" in message_of(KeyError("x"))


def test_what_kafka_says_is_told_with_its_name() -> None:
    assert message_of(kafka_error(KafkaError.UNKNOWN_TOPIC_OR_PART)).startswith("Kafka says UNKNOWN_TOPIC_OR_PART: ")


def test_a_file_is_told_with_its_name() -> None:
    assert message_of(PermissionError(13, "denied", "file")) == "file cannot be used: denied."


def test_codes_are_what_scripts_rely_on() -> None:
    assert {code.name: code.value for code in ExitCode} == {
        "YES": 0,
        "NO": 1,
        "USAGE": 2,
        "UNREACHABLE": 3,
        "MISSING": 4,
        "CONFLICT": 5,
        "INVALID": 6,
        "BUG": 70,
        "INTERRUPTED": 130,
    }

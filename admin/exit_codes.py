"""What the command's exit codes mean, and which one an error has: decided here and nowhere else."""

from enum import IntEnum

from tamis.admin.errors import DeclinedError, StackError, UsageError
from tamis.broker.errors import (
    BrokerError,
    ConfigurationError,
    ConflictError,
    InvalidError,
    MissingError,
    UnreachableError,
)


class ExitCode(IntEnum):
    """As scripts may rely on them."""

    YES = 0
    """Done, or the answer is yes."""
    NO = 1
    """The answer is no, as with grep: no match, not healthy, a difference, a question declined."""
    USAGE = 2
    """Wrong options or a wrong configuration."""
    UNREACHABLE = 3
    """Kafka or Redis does not answer, or does not let us in."""
    MISSING = 4
    """What was named is not there."""
    CONFLICT = 5
    """It is there already, or somebody else has it, or it disagrees."""
    INVALID = 6
    """An event, an expression or a file that cannot be taken."""
    BUG = 70
    """A mistake in Tamis."""
    INTERRUPTED = 130
    """Ctrl-C."""


_OF_CLASS: tuple[tuple[type[Exception], ExitCode], ...] = (
    (DeclinedError, ExitCode.NO),
    (UsageError, ExitCode.USAGE),
    (ConfigurationError, ExitCode.USAGE),
    (StackError, ExitCode.UNREACHABLE),
    (UnreachableError, ExitCode.UNREACHABLE),
    (MissingError, ExitCode.MISSING),
    (ConflictError, ExitCode.CONFLICT),
    (InvalidError, ExitCode.INVALID),
    (BrokerError, ExitCode.CONFLICT),  # of no class: the state of things does not allow it
    (FileNotFoundError, ExitCode.MISSING),
    (OSError, ExitCode.USAGE),  # a file that was named and cannot be used; the servers' are not OSErrors
)
# By the names that Kafka has for its errors. What is not named here is Kafka's trouble: unreachable.
_OF_KAFKA = {
    **dict.fromkeys(
        (
            *("UNKNOWN_TOPIC_OR_PART", "_UNKNOWN_TOPIC", "_UNKNOWN_PARTITION", "UNKNOWN_TOPIC_ID"),
            *("GROUP_ID_NOT_FOUND", "RESOURCE_NOT_FOUND"),
        ),
        ExitCode.MISSING,
    ),
    **dict.fromkeys(
        (
            *("TOPIC_ALREADY_EXISTS", "NON_EMPTY_GROUP", "GROUP_SUBSCRIBED_TO_TOPIC", "FENCED_INSTANCE_ID"),
            *(
                "UNRELEASED_INSTANCE_ID",
                "PRODUCER_FENCED",
                "INVALID_PRODUCER_EPOCH",
                "_FENCED",
                "CONCURRENT_TRANSACTIONS",
            ),
        ),
        ExitCode.CONFLICT,
    ),
    **dict.fromkeys(
        (
            *("INVALID_CONFIG", "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR", "INVALID_REQUEST"),
            *("POLICY_VIOLATION", "TOPIC_EXCEPTION", "_INVALID_ARG"),
        ),
        ExitCode.USAGE,
    ),
    **dict.fromkeys(("MSG_SIZE_TOO_LARGE", "INVALID_RECORD", "INVALID_MSG", "_MSG_SIZE"), ExitCode.INVALID),
}


def exit_code_of(error: BaseException) -> ExitCode:
    if isinstance(error, KeyboardInterrupt):
        return ExitCode.INTERRUPTED
    for kind, code in _OF_CLASS:
        if isinstance(error, kind):
            return code
    return _of_library(error)


def message_of(error: BaseException) -> str:
    """What to tell about it; a mistake of ours says so."""
    code = exit_code_of(error)
    if code is ExitCode.BUG:
        return f"This is a mistake in Tamis: {type(error).__name__}: {error}. Run it again with --debug to see where."
    return _kafka_message(error) or _file_message(error) or str(error)


def is_kafkas(error: BaseException) -> bool:
    """Whether it is Kafka's own, which does not tell which Kafka was asked."""
    return _kafka_message(error) is not None


def _of_library(error: BaseException) -> ExitCode:
    """Of errors that are no classes of the command layer's; looking at them takes imports that a success spares."""
    from tamis.broker.kafka import KafkaException
    from tamis.broker.redis import RedisError
    from tamis.codecs.errors import CodecError
    from tamis.indexes import EventError, ExpressionError, SnapshotError

    if isinstance(error, KafkaException):
        return _OF_KAFKA.get(error.args[0].name(), ExitCode.UNREACHABLE)
    if isinstance(error, RedisError):
        return ExitCode.UNREACHABLE
    if isinstance(error, ExpressionError | EventError | CodecError | SnapshotError):
        return ExitCode.INVALID
    return ExitCode.BUG


def _kafka_message(error: BaseException) -> str | None:
    cause = error.args[0] if error.args else None
    name, text = getattr(cause, "name", None), getattr(cause, "str", None)
    return f"Kafka says {name()}: {text()}" if callable(name) and callable(text) else None


def _file_message(error: BaseException) -> str | None:
    if isinstance(error, OSError) and error.filename is not None:
        return f"{error.filename} cannot be used: {error.strerror}."
    return None

"""What was found, in one area after the other, and how an area that cannot be looked at is told."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tamis.broker.errors import BrokerError
from tamis.broker.kafka import KafkaException
from tamis.broker.topic_checks import Status
from tamis.broker.transactions import is_forbidden

RIGHTS = "Give this user the rights that docs/rights.md lists."


@dataclass(frozen=True, slots=True)
class Symptom:
    """One thing that was looked at; what is not OK has a fix."""

    area: str
    about: str
    status: Status
    found: str
    wanted: str = ""
    fix: str = ""


Look = Callable[[], Iterator[Symptom]]


def looked_at(area: str, look: Look) -> Iterator[Symptom]:
    """What an area has; that it does not let itself be looked at is a symptom too."""
    try:
        yield from look()
    except KafkaException as error:
        fix = RIGHTS if is_forbidden(error.args[0]) else "Look at Kafka's own log."
        yield Symptom(area, "answer", Status.FAIL, f"Kafka says {error.args[0].name()}: {error.args[0].str()}", "", fix)
    except BrokerError as error:
        cause = error.__cause__
        is_right = isinstance(cause, KafkaException) and is_forbidden(cause.args[0])
        yield Symptom(area, "answer", Status.FAIL, str(error), "", RIGHTS if is_right else "Begin with what it says.")

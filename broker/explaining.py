"""Why an expression does or does not hold for an event: decoded as the broker would decode it, without any Kafka."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tamis.broker.errors import InvalidError
from tamis.broker.event_lines import outgoing
from tamis.broker.json_lines import LineError
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.messages import EventFormat, Framing, Messages
from tamis.indexes import Explanation, Expression, ExpressionError, parse
from tamis.indexes.values import Value


@dataclass(frozen=True, slots=True)
class Explained:
    """An event and what an expression came to on it."""

    event: Mapping[str, Value]
    """With what every event has: `$id`, `$topic` and so on."""
    explanation: Explanation

    @property
    def matches(self) -> bool:
        return self.explanation.verdict is True


def parsed(expression: str) -> Expression:
    """InvalidError shows the place."""
    try:
        return parse(expression)
    except ExpressionError as error:
        raise InvalidError(f"The expression cannot be taken: {error}") from error


def decoded_event(text: bytes, topic: str) -> Mapping[str, Value]:
    """Of a JSON object: an event as publishers write it, if it has `attributes`, else one whose members these are.

    It is as it would be at the beginning of that topic.
    """
    value, form = text, EventFormat(Framing.JSON)
    try:
        if _has_attributes(text):
            value, form = outgoing(text).value, EventFormat(Framing.SINGLE_OBJECT)
    except LineError as error:
        raise InvalidError(f"The event cannot be taken: {error}.") from error
    decoded = EventDecoder().decode(Messages(topic, 0, [0], [-1], [value], format=form))
    if decoded.refusals:
        raise InvalidError(f"The event cannot be taken: {str(decoded.refusals[0]).partition(': ')[2]}.")
    event: Mapping[str, Value] = next(iter(decoded.batch))
    return event


def explained(expression: Expression, event: Mapping[str, Value]) -> Explained:
    return Explained(event, expression.explain(event))


def as_json(explanation: Explanation) -> dict[str, Any]:
    """As nested objects; a verdict is true, false, or null where the event leaves it open."""
    found: dict[str, Any] = {"text": explanation.text, "verdict": explanation.verdict}
    if explanation.state is not None:
        found |= {"state": explanation.state, "value": explanation.value}
    if explanation.children:
        found["children"] = [as_json(child) for child in explanation.children]
    return found


def _has_attributes(text: bytes) -> bool:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False  # whoever decodes it tells why
    return isinstance(found, dict) and isinstance(found.get("attributes"), dict)

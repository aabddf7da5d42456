"""Subscriptions as lines of JSON: what people and tools hand in by the million."""

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tamis.broker.json_lines import LineError, WrongLine, in_batches, object_of, typed
from tamis.codecs.errors import RecordError
from tamis.codecs.subscription import Subscription, default_name
from tamis.indexes import Limits, parse_many

_NO_TAGS: Mapping[str, str] = MappingProxyType({})
_TYPES: dict[str, type[Any]] = {
    "subscriber": str,
    "name": str,
    "expression": str,
    "tags": dict,
    "scores": bool,
    "paused": str,
}
_DEFAULTS: dict[str, Any] = {"tags": _NO_TAGS, "scores": False}
"""Of what is null; of what has none here, it stays null."""
KEYS = tuple(_TYPES)
_LINES_AT_ONCE = 5000


class Numbered(NamedTuple):
    """A subscription, and the line that it was on."""

    line: int
    subscription: Subscription
    value: bytes
    """As a record has it."""


def parsed_lines(
    lines: Iterable[tuple[int, bytes]], limits: Limits
) -> Iterator[tuple[list[Numbered], list[WrongLine]]]:
    """Some thousand at a time: the subscriptions, and the lines that are none. One without a name gets its default."""
    for some in in_batches(lines, _LINES_AT_ONCE):
        yield _parsed(some, limits)


def _parsed(lines: list[tuple[int, bytes]], limits: Limits) -> tuple[list[Numbered], list[WrongLine]]:
    wrong: list[WrongLine] = []
    found: list[tuple[int, dict[str, Any]]] = []
    for line, text in lines:
        try:
            found.append((line, _checked(object_of(text, KEYS, "subscriber"))))
        except (LineError, RecordError) as error:
            wrong.append(WrongLine(line, str(error)))
    expressions, errors = parse_many([fields["expression"] for _, fields in found], limits)
    refused = dict(errors)
    wrong += [WrongLine(found[place][0], str(error)) for place, error in errors]
    good: list[Numbered] = []
    parsed = -1  # the good ones only are in `expressions`
    for place, (line, fields) in enumerate(found):
        if place in refused:
            continue
        parsed += 1
        try:
            if fields.get("name") is None:
                fields["name"] = default_name(expressions[parsed].text)
            subscription = Subscription(**fields)
            good.append(Numbered(line, subscription, subscription.encode()))
        except RecordError as error:
            wrong.append(WrongLine(line, str(error)))
    wrong.sort(key=lambda one: one.line)
    return good, wrong


def _checked(fields: dict[str, Any]) -> dict[str, Any]:
    """Every value is of its type, as the record's fields are; names and the expression may still be wrong."""
    if fields.get("expression") is None:
        raise LineError("'expression' is missing")
    for key, value in fields.items():
        if type(value) is not _TYPES[key] and typed(fields, key, _TYPES[key]) is None:
            fields[key] = _DEFAULTS.get(key)
    fields["tags"] = checked_tags(fields.get("tags", _NO_TAGS))
    return fields


def checked_tags(tags: Mapping[str, Any]) -> Mapping[str, str]:
    for name, value in tags.items():
        if not isinstance(value, str):
            raise LineError(f"the tag {name!r} is a string, not {value!r}")
    return tags

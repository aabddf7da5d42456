"""Avro schemas as types: read from JSON text with every bound checked, before anything is built from them.

Messages are read with the schema they were written with, and with no other: defaults, aliases and promotions, by which
a reader's schema would differ, play no part.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from tamis.codecs.errors import SchemaError
from tamis.codecs.fingerprint import PRIMITIVES, full_name
from tamis.codecs.limits import SchemaLimits

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
_COUNT_MAX = 2**31 - 1
DEFAULT_LIMITS = SchemaLimits()


@dataclass(frozen=True, eq=False)
class AvroType:
    """A type; where it is named, one object stands wherever the name does."""

    kind: str
    children: tuple["AvroType", ...] = ()
    """A record's fields, a union's branches, what an array or map holds."""
    names: tuple[str, ...] = ()
    """Of a record's fields, of an enum's symbols."""
    size: int = 0
    """Of a fixed."""
    scale: int | None = None
    """Of a decimal, which bytes or a fixed hold."""
    nodes: int = 1
    """How many types there are, each counted wherever it stands."""
    bytes_min: int = 0
    """What a value takes at least. If that is nothing, it is nothing for every value."""
    depth: int = 1


def load_json(text: str, limits: SchemaLimits = DEFAULT_LIMITS) -> Any:
    """A schema's text as JSON; what is too long or too deep for the standard library is refused before it sees it."""
    if len(text) > limits.text_bytes:
        raise SchemaError(f"the schema has {len(text)} characters, more than {limits.text_bytes}")
    depth = 0
    bound = 4 * limits.depth  # a type's JSON nests up to three objects and lists deeper than the type
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            depth += 1
            if depth > bound:
                raise SchemaError(f"the schema's JSON is nested more than {bound} deep")
        elif token[0] in "]}":
            depth -= 1
    try:
        return json.loads(text, object_pairs_hook=_object)
    except SchemaError:
        raise
    except ValueError as error:
        raise SchemaError(f"the schema is not JSON: {error}") from None


def parse_record(schema: object, limits: SchemaLimits = DEFAULT_LIMITS) -> AvroType:
    """The type of events that were written with a schema, as `load_json` gives it: a record."""
    parsed = _Parser(limits).type_of(schema, "", 1)
    if parsed.kind != "record":
        raise SchemaError(f"an event is a record, and this schema is of type {parsed.kind!r}")
    return parsed


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise SchemaError(f"the schema's JSON has an object with a key twice: {sorted(key for key, _ in pairs)}")
    return result


class _Parser:
    def __init__(self, limits: SchemaLimits) -> None:
        self._limits = limits
        self._named: dict[str, AvroType | None] = {}  # None: of a type that is being read

    def type_of(self, schema: object, enclosing: str, depth: int) -> AvroType:
        if depth > self._limits.depth:
            raise SchemaError(f"the schema has types nested more than {self._limits.depth} deep")
        match schema:
            case str():
                return self._checked(_primitive(schema) or self._known(schema, enclosing), depth)
            case list():
                return self._union(schema, enclosing, depth)
            case Mapping():
                return self._of_object(schema, enclosing, depth)
        raise SchemaError(f"a schema is a name, an object or a list, not {_shown(schema)}")

    def _known(self, name: str, enclosing: str) -> AvroType:
        full = full_name(name, None, enclosing)
        if full not in self._named:
            raise SchemaError(f"the schema names the type {full!r}, which it does not define before")
        known = self._named[full]
        if known is None:
            raise SchemaError(f"the type {full!r} holds itself: an event flattened from it would have no end")
        return known

    def _of_object(self, schema: Mapping[str, Any], enclosing: str, depth: int) -> AvroType:
        kind = schema.get("type")
        if isinstance(kind, (list, Mapping)):
            return self.type_of(kind, enclosing, depth + 1)
        if not isinstance(kind, str):
            raise SchemaError(f"'type' is missing in {_shown(schema)}")
        match kind:
            case "array" | "map":
                key = "items" if kind == "array" else "values"
                if key not in schema:
                    raise SchemaError(f"{key!r} is missing in {_shown(schema)}")
                held = self.type_of(schema[key], enclosing, depth + 1)
                return self._checked(_joined(kind, [held], bytes_min=1), depth)
            case "record" | "error" | "enum" | "fixed":
                return self._checked(self._define(kind, schema, enclosing, depth), depth)
        plain = _primitive(kind)
        if plain is None:
            return self._checked(self._known(kind, enclosing), depth)
        return AvroType(kind, scale=_scale(schema), bytes_min=plain.bytes_min) if kind == "bytes" else plain

    def _define(self, kind: str, schema: Mapping[str, Any], enclosing: str, depth: int) -> AvroType:
        name = full_name(schema.get("name"), schema.get("namespace"), enclosing)
        for part in name.split("."):
            _check_name(part)
        if name in self._named or name in PRIMITIVES:
            raise SchemaError(f"the schema defines the type {name!r} twice")
        self._named[name] = None
        if kind == "fixed":
            made = _fixed(schema)
        elif kind == "enum":
            made = AvroType("enum", names=_names(schema, "symbols", schema.get("symbols")), bytes_min=1)
        else:
            made = self._record(schema, name.rpartition(".")[0], depth)
        self._named[name] = made
        return made

    def _record(self, schema: Mapping[str, Any], namespace: str, depth: int) -> AvroType:
        fields = schema.get("fields")
        if not isinstance(fields, list) or not all(isinstance(field, Mapping) for field in fields):
            raise SchemaError(f"'fields' is a list of objects in {_shown(schema)}")
        names = _names(schema, "fields", [field.get("name") for field in fields])
        for field in fields:
            if "type" not in field:
                raise SchemaError(f"'type' is missing in {_shown(field)}")
        children = [self.type_of(field["type"], namespace, depth + 1) for field in fields]
        return _joined("record", children, names=names, bytes_min=sum(child.bytes_min for child in children))

    def _union(self, schema: list[Any], enclosing: str, depth: int) -> AvroType:
        branches = [self.type_of(branch, enclosing, depth + 1) for branch in schema]
        if not branches:
            raise SchemaError("a union has one branch or more")
        seen = set()
        for branch in branches:
            if branch.kind == "union":
                raise SchemaError("a union has no union for a branch")
            told: object = branch if branch.kind in {"record", "enum", "fixed"} else branch.kind
            if told in seen:
                raise SchemaError(f"a union has the branch {branch.kind!r} twice")
            seen.add(told)
        return self._checked(
            _joined("union", branches, bytes_min=1 + min(branch.bytes_min for branch in branches)), depth
        )

    def _checked(self, made: AvroType, depth: int) -> AvroType:
        if made.nodes > self._limits.nodes:
            raise SchemaError(f"the schema has more than {self._limits.nodes} types, each counted where it stands")
        if made.depth + depth - 1 > self._limits.depth:
            raise SchemaError(f"the schema has types nested more than {self._limits.depth} deep")
        return made


def _joined(kind: str, children: Iterable[AvroType], *, bytes_min: int, names: tuple[str, ...] = ()) -> AvroType:
    held = tuple(children)
    return AvroType(
        kind,
        children=held,
        names=names,
        nodes=1 + sum(child.nodes for child in held),
        bytes_min=min(bytes_min, _COUNT_MAX),
        depth=1 + max((child.depth for child in held), default=0),
    )


_LEAST = {"null": 0, "float": 4, "double": 8}


def _primitive(name: str) -> AvroType | None:
    return AvroType(name, bytes_min=_LEAST.get(name, 1)) if name in PRIMITIVES else None


def _fixed(schema: Mapping[str, Any]) -> AvroType:
    size = schema.get("size")
    if isinstance(size, bool) or not isinstance(size, int) or not 0 <= size <= _COUNT_MAX:
        raise SchemaError(f"a fixed has a size from 0 to {_COUNT_MAX}, not {_shown(size)}")
    return AvroType("fixed", size=size, scale=_scale(schema) if size else None, bytes_min=size)


def _scale(schema: Mapping[str, Any]) -> int | None:
    """Of a decimal. A logical type whose attributes make no sense is none, as the specification says."""
    if schema.get("logicalType") != "decimal":
        return None
    precision, scale = schema.get("precision"), schema.get("scale", 0)
    if not isinstance(precision, int) or not isinstance(scale, int) or not 0 <= scale <= precision <= _COUNT_MAX:
        return None
    return scale if precision else None


def _names(schema: Mapping[str, Any], key: str, names: object) -> tuple[str, ...]:
    if not isinstance(names, list):
        raise SchemaError(f"{key!r} is a list in {_shown(schema)}")
    for name in names:
        _check_name(name)
    if len(set(names)) < len(names):
        raise SchemaError(f"{key!r} has a name twice in {_shown(schema)}")
    return tuple(names)


def _check_name(name: object) -> None:
    if not isinstance(name, str) or _NAME.fullmatch(name) is None:
        raise SchemaError(f"a name is letters, digits and _, no digit first; not {_shown(name)}")


def _shown(value: object) -> str:
    shown = repr(value)
    return shown if len(shown) <= 200 else shown[:200] + "..."  # noqa: PLR2004

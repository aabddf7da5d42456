"""What tells one Avro schema from another: its Parsing Canonical Form, and 64 bits of that.

Both are the Avro specification's, down to the byte: the single-object encoding begins every message with them.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tamis.codecs.errors import SchemaError

PRIMITIVES = frozenset(("null", "boolean", "int", "long", "float", "double", "bytes", "string"))
_NAMED = frozenset(("record", "error", "enum", "fixed"))
_DEPTH_MAX = 100
"""Of nested types: the functions here call themselves once for each."""
_SIZE_DIGITS_MAX = 20
_EMPTY = 0xC15D213AA4D7A795


def _row(byte: int) -> int:
    for _ in range(8):
        byte = (byte >> 1) ^ (_EMPTY if byte & 1 else 0)
    return byte


_TABLE = [_row(byte) for byte in range(256)]


def crc64(data: bytes) -> int:
    """CRC-64-AVRO."""
    value = _EMPTY
    for byte in data:
        value = (value >> 8) ^ _TABLE[(value ^ byte) & 0xFF]
    return value


def fingerprint(schema: object) -> int:
    """CRC-64-AVRO of a schema's canonical form, the schema as `json.loads` gives it."""
    return crc64(canonical_form(schema).encode())


def single_object_header(schema: object) -> bytes:
    """The ten bytes before every value of this schema: `C3 01`, then the fingerprint, its lowest byte first."""
    return b"\xc3\x01" + fingerprint(schema).to_bytes(8, "little")


def canonical_form(schema: object) -> str:
    """The schema with nothing but what readers need, written in one way only. SchemaError if it is no schema."""
    return _form(schema, "", _DEPTH_MAX)


def full_name(name: object, namespace: object, enclosing: str) -> str:
    """A name with its namespace before it: its own, else the one given beside it, else that of what encloses it."""
    if not isinstance(name, str) or not name:
        raise SchemaError(f"a type's name is a string that is not empty, not {name!r}")
    if "." in name:
        return name
    if namespace is None:
        namespace = enclosing
    if not isinstance(namespace, str):
        raise SchemaError(f"the namespace of {name!r} is a string, not {namespace!r}")
    return f"{namespace}.{name}" if namespace else name


def _form(schema: object, enclosing: str, depth: int) -> str:
    if depth == 0:
        raise SchemaError(f"the schema is nested more than {_DEPTH_MAX} types deep")
    match schema:
        case str():
            return _quoted(schema if schema in PRIMITIVES else full_name(schema, None, enclosing))
        case Mapping():
            return _form_of_object(schema, enclosing, depth)
        case Sequence():
            return f"[{','.join(_form(branch, enclosing, depth - 1) for branch in schema)}]"
    raise SchemaError(f"a schema is a name, an object or a list, not {schema!r}")


def _form_of_object(schema: Mapping[str, Any], enclosing: str, depth: int) -> str:
    kind = _required(schema, "type", schema)
    if not isinstance(kind, str):  # {"type": {"type": "int"}} says no more than its inner one
        return _form(kind, enclosing, depth - 1)
    parts = []
    if kind in _NAMED:
        name = full_name(_required(schema, "name", schema), schema.get("namespace"), enclosing)
        enclosing = name.rpartition(".")[0]
        parts.append(f'"name":{_quoted(name)}')
        # Errors are records, and to readers nothing else; but the specification keeps the word.
        parts.append(f'"type":{_quoted(kind)}')
    elif kind in {"array", "map"}:
        parts.append(f'"type":{_quoted(kind)}')
    else:
        return _form(kind, enclosing, depth - 1)
    match kind:
        case "record" | "error":
            fields = (_form_of_field(field, enclosing, depth) for field in _listed(schema, "fields"))
            parts.append(f'"fields":[{",".join(fields)}]')
        case "enum":
            parts.append(f'"symbols":[{",".join(_quoted(symbol) for symbol in _listed(schema, "symbols"))}]')
        case "fixed":
            parts.append(f'"size":{_whole(_required(schema, "size", schema))}')
        case "array":
            parts.append(f'"items":{_form(_required(schema, "items", schema), enclosing, depth - 1)}')
        case "map":
            parts.append(f'"values":{_form(_required(schema, "values", schema), enclosing, depth - 1)}')
    return f"{{{','.join(parts)}}}"


def _form_of_field(field: object, enclosing: str, depth: int) -> str:
    if not isinstance(field, Mapping):
        raise SchemaError(f"a record's field is an object, not {field!r}")
    name = _quoted(_required(field, "name", field))
    return f'{{"name":{name},"type":{_form(_required(field, "type", field), enclosing, depth - 1)}}}'


def _required(schema: Mapping[str, Any], key: str, shown: object) -> Any:
    if key not in schema:
        raise SchemaError(f"{key!r} is missing in {str(shown)[:200]}")
    return schema[key]


def _listed(schema: Mapping[str, Any], key: str) -> Sequence[Any]:
    value = _required(schema, key, schema)
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise SchemaError(f"{key!r} is a list, not {str(value)[:200]}")
    return value


def _quoted(text: object) -> str:
    if not isinstance(text, str):
        raise SchemaError(f"a name is a string, not {text!r}")
    return json.dumps(text, ensure_ascii=False)


def _whole(size: object) -> int:
    """Sizes may stand in quotes and begin with zeros."""
    if isinstance(size, str) and size.isascii() and size.isdigit() and len(size) <= _SIZE_DIGITS_MAX:
        return int(size)
    if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
        return size
    raise SchemaError(f"a size is a whole number that is not negative, not {size!r}")

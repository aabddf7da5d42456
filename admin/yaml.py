"""Plain values as YAML, which is little work to write and much to read: nothing here reads it."""

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

# Bare words that every reader takes for strings; whatever else is written as JSON has it, which is YAML too.
_BARE = re.compile(r"[A-Za-z][A-Za-z0-9_./-]*", re.ASCII)
_TAKEN = frozenset({"true", "false", "null", "yes", "no", "on", "off", "y", "n"})


def yaml_lines(value: Any) -> Iterator[str]:
    """A document, line by line."""
    if isinstance(value, Mapping) and value:
        for key, of_key in value.items():
            yield from _entry(f"{_scalar(str(key))}:", of_key)
    elif isinstance(value, list | tuple) and value:
        for element in value:
            lines = list(yaml_lines(element))
            yield f"- {lines[0]}"
            yield from (f"  {line}" for line in lines[1:])
    else:
        yield _scalar(value)


def _entry(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, Mapping | list | tuple) and value:
        yield key
        yield from (f"  {line}" for line in yaml_lines(value))
    else:
        yield f"{key} {_scalar(value)}"


def _scalar(value: Any) -> str:
    match value:
        case str() if _BARE.fullmatch(value) and value.lower() not in _TAKEN:
            return value
        case Mapping():
            return "{}"
        case list() | tuple():
            return "[]"
        case float() if not math.isfinite(value):
            return {"inf": ".inf", "-inf": "-.inf"}.get(str(value), ".nan")
        case _:
            return json.dumps(value, ensure_ascii=True, default=str)

"""How names and constants are written in canonical text."""

import re

from tamis.indexes.lexer import KEYWORDS, RESERVED_WORDS
from tamis.indexes.values import Value

_BARE = re.compile(r"[A-Za-z_$][A-Za-z0-9_.\-/]*")
_WORDS = frozenset(KEYWORDS + RESERVED_WORDS)
_SHORT_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}
_ESCAPES = str.maketrans({chr(code): f"\\u{code:04x}" for code in range(0x20)} | _SHORT_ESCAPES)


def name_text(name: str) -> str:
    """An attribute's name, in backticks where it needs them."""
    if _BARE.fullmatch(name) and name.lower() not in _WORDS:
        return name
    return "`" + name.replace("`", "``") + "`"


def literal_text(value: Value) -> str:
    """A constant: strings in double quotes, doubles as `repr` has them, integral ones that fit a long as longs."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return f'"{value.translate(_ESCAPES)}"'
    if isinstance(value, float) and value.is_integer() and -(2.0**63) <= value < 2.0**63:
        value = int(value)
    return repr(value)

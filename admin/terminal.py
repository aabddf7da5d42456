"""What a terminal needs that a file does not: colours, widths, and text that cannot steer it."""

import os
import unicodedata
from typing import TextIO

_COLOURS = {"red": "31", "green": "32", "yellow": "33", "bold": "1"}
_ESCAPES = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def wants_colour(stream: TextIO) -> bool:
    """Only on a terminal, and never where `NO_COLOR` is set to anything."""
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def coloured(text: str, colour: str) -> str:
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m"


def shown(text: str) -> str:
    """On one line; what a terminal would obey is escaped, since anyone may write to a topic."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else _ESCAPES.get(c) or _escape(c) for c in text)


def width_of(text: str) -> int:
    """In columns of a terminal: East Asian wide characters take two, combining ones none."""
    if text.isascii():
        return len(text)
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def _escape(character: str) -> str:
    code = ord(character)
    if code < 0x100:  # noqa: PLR2004
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004

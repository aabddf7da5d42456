"""What is said of a text that is no expression: what stands where, why not, and what could."""

from collections.abc import Sequence
from difflib import get_close_matches

from tamis.indexes.errors import ExpressionError
from tamis.indexes.lexer import KEYWORDS, SYMBOLS

_WIDTH = 60
"""Code points of the text that are shown around the place."""

_WHY = {
    "unknown character": "{found} begins no name, number, string or operator",
    "open string": "the string that begins here does not end: its closing quote is missing",
    "open name": "the name that begins here does not end: its closing backtick is missing",
    "bad escape": "{found} is no escape: there are \\\\ \\\" \\' \\n \\t \\r and \\u with four hexadecimal digits",
    "surrogate": "a surrogate stands alone: only a pair of them, high and low, is a character",
    "empty name": "an attribute's name is not empty",
    "reserved name": "{found} is a reserved word: in backticks, `{bare}`, it is a name",
    "bad number": "{found} is no number; a name character does not follow a number directly",
    "long overflow": "{found} does not fit a long, which goes from -2**63 to 2**63 - 1; with .0 it is a double",
    "double overflow": "{found} is beyond the largest double",
    "mixed families": "{found} is of another family than the constants before it: numbers, strings or booleans",
    "empty range": "{found} is below the range's beginning, so nothing is between them: exchange them",
    "bad weight": "a weight is greater than zero",
    "too long": "the text has more than {bound} bytes of UTF-8",
    "canonical_too_long": "its canonical form has {size} bytes of UTF-8, more than {bound}",
    "too many predicates": "it has too many predicates",
    "too deep": "it is nested too deeply: each group and each `not` counts one",
    "too many members": "the set has too many members",
    "pattern too long": "the regular expression has too many characters",
    "pattern": "{found} is no regular expression: {reason}",
}


def refusal(
    failure: str, text: str, start: int, end: int, *, expected: Sequence[int] = (), **facts: object
) -> ExpressionError:
    """The error for what stands at `text[start:end]`; `expected` are symbols that could stand there instead."""
    found = text[start:end] if start < len(text) else "end of text"
    wanted = [SYMBOLS[symbol] for symbol in expected]
    if failure == "syntax":
        reason = f"{_quoted(found)} stands where {_listed(wanted)} is expected"
        near = _nearest(text, start, found, wanted)
        if near is not None:
            reason += f"; did you mean {near}?"
        elif "an attribute" in wanted and found.lower() in KEYWORDS:
            reason += f"; in backticks, `{found}`, it is a name"
    else:
        reason = _WHY[failure].format(found=_quoted(found), bare=found, **facts)
    message = f"column {start + 1}: {reason}\n{_place(text, start, end)}"
    return ExpressionError(message, column=start + 1, found=found, expected=wanted)


def _quoted(found: str) -> str:
    if found == "end of text":
        return "the end of the text"
    return repr(found if len(found) <= _WIDTH else found[:_WIDTH] + "...")


def _listed(wanted: Sequence[str]) -> str:
    return wanted[0] if len(wanted) == 1 else f"{', '.join(wanted[:-1])} or {wanted[-1]}"


def _nearest(text: str, start: int, found: str, wanted: Sequence[str]) -> str | None:
    """The keyword that was meant: here, or, where an operator is wanted, by the word before that is its attribute."""
    keywords = [word for word in wanted if word in KEYWORDS]
    near = get_close_matches(found.lower(), keywords, n=1, cutoff=0.6)
    if near or "=" not in wanted:
        return near[0] if near else None
    before = text[:start].split()[-1:] or [""]
    near = get_close_matches(before[0].lower().lstrip("("), ["exists", "missing", "not"], n=1, cutoff=0.7)
    return near[0] if near else None


def _place(text: str, start: int, end: int) -> str:
    """The text around the place on one line, and carets below it."""
    first = max(0, start - _WIDTH // 2)
    last = min(len(text), first + _WIDTH)
    shown = "".join(character if character.isprintable() else " " for character in text[first:last])
    lead = "..." if first > 0 else ""
    tail = "..." if last < len(text) else ""
    carets = "^" * max(1, min(end, last) - start)
    return f"  {lead}{shown}{tail}\n  {' ' * (len(lead) + start - first)}{carets}"

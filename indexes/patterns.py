"""Regular expressions: RE2, which takes time linear in the text whatever the pattern."""

from functools import lru_cache
from typing import Any

import re2

from tamis.indexes.limits import Limits

_KEPT = 1000
"""Programs kept, at 4 to 7 kB each."""
_ACCEPTED_BYTES_MAX = 1 << 28
"""Memory that limits allow at most."""


class PatternError(ValueError):
    """A text that is no regular expression, with RE2's reason."""


def check_pattern(pattern: str, limits: Limits) -> None:
    """Refuse what does not compile, or not within the memory that is allowed."""
    _compiled(pattern, limits.pattern_bytes)


def matches(pattern: str, value: bytes) -> bool:
    """Whether an accepted pattern occurs anywhere in a string, given as UTF-8."""
    return _accepted(pattern).search(value) is not None


@lru_cache(_KEPT)
def _accepted(pattern: str) -> Any:
    """In the least memory that will do: the limits that it was written under may have allowed more than the default."""
    max_bytes = Limits.pattern_bytes
    while True:
        try:
            return _compiled(pattern, max_bytes)
        except PatternError:
            if max_bytes >= _ACCEPTED_BYTES_MAX:
                raise
            max_bytes *= 2


@lru_cache(_KEPT)
def _compiled(pattern: str, max_bytes: int) -> Any:
    options = re2.Options()
    options.max_mem = max_bytes
    options.log_errors = False
    try:
        return re2.compile(pattern.encode(), options)
    except re2.error as error:
        reason = error.args[0]
        raise PatternError(reason.decode(errors="replace") if isinstance(reason, bytes) else str(reason)) from None

"""The disjoint pieces into which predicates on one attribute cut its values.

A cut lies before a value or behind it. Between two neighbouring cuts every predicate holds for all values or for none,
so one value in between tells who covers the piece. Pieces that no value can lie in, as between a double and the next
one, are left out.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.indexes.printing import Predicate
from tamis.indexes.spelling import literal_text
from tamis.indexes.values import Value

# A value, and whether the cut is behind it.
Cut = tuple[Value, bool]

_LONG_MIN, _LONG_MAX = -(1 << 63), (1 << 63) - 1
_LAST_CHARACTER = 0x10FFFF
_SURROGATES = range(0xD800, 0xE000)


class PredicateSpace(NamedTuple):
    """A piece of an attribute's domain, and the ids of the predicates that cover it; bounds are None at the ends."""

    low: Value | None
    is_low_inside: bool
    high: Value | None
    is_high_inside: bool
    ids: NDArray[np.uint32]

    def __str__(self) -> str:
        low = "(-" if self.low is None else "[("[not self.is_low_inside] + literal_text(self.low)
        high = "-)" if self.high is None else literal_text(self.high) + "])"[not self.is_high_inside]
        return f"{low}, {high}: {', '.join(map(str, self.ids.tolist())) or 'none'}"


def cuts_of(predicate: Predicate) -> Iterator[Cut]:
    """Where a predicate begins and ceases to hold."""
    operands = predicate.operands
    match predicate.operator.removeprefix("not "):
        case "<" | ">=":
            yield operands[0], False
        case "<=" | ">":
            yield operands[0], True
        case "between":
            yield operands[0], False
            yield operands[1], True
        case "starts with":
            prefix = str(operands[0])
            yield prefix, False
            behind = _behind_prefix(prefix)
            if behind is not None:
                yield behind, False
        case _:
            for operand in operands:
                yield operand, False
                yield operand, True


def families(cuts: Iterable[Cut]) -> list[list[Cut]]:
    """Cuts in order, booleans, numbers and strings apart."""
    found: dict[str, set[Cut]] = {"boolean": set(), "number": set(), "string": set()}
    for value, behind in cuts:
        family = "boolean" if isinstance(value, bool) else "string" if isinstance(value, str) else "number"
        found[family].add((value, behind))
    # Of one family only: so they can be compared, ints and floats by exact value.
    return [sorted(some) for some in found.values() if some]


def pieces(cuts: list[Cut]) -> Iterator[tuple[Cut | None, Cut | None, Value]]:
    """The cuts around each piece that a value can lie in, and such a value."""
    ends: list[Cut | None] = [None, *cuts, None]
    for low, high in pairwise(ends):
        value = _value_between(low, high)
        if value is not None:
            yield low, high, value


def space(low: Cut | None, high: Cut | None, ids: NDArray[np.uint32]) -> PredicateSpace:
    return PredicateSpace(
        None if low is None else low[0],
        low is None or not low[1],
        None if high is None else high[0],
        high is None or high[1],
        ids,
    )


def _behind_prefix(prefix: str) -> str | None:
    """The least string behind all that begin with a prefix, if there is one."""
    kept = prefix.rstrip(chr(_LAST_CHARACTER))
    if not kept:
        return None
    code = ord(kept[-1]) + 1
    return kept[:-1] + chr(_SURROGATES.stop if code in _SURROGATES else code)


def _value_between(low: Cut | None, high: Cut | None) -> Value | None:
    if low is not None and not low[1]:
        return low[0]
    if high is not None and high[1]:
        return high[0]
    some = low or high
    assert some is not None
    if isinstance(some[0], bool):
        is_all_on_one_side = (low is None) == some[0]
        return low is not None if (low is None or high is None) and is_all_on_one_side else None
    if isinstance(some[0], str):
        following = "" if low is None else f"{low[0]}\0"
        return following if high is None or following < str(high[0]) else None
    return _number_between(low and low[0], high and high[0])  # type: ignore[arg-type] # numbers are among numbers


def _number_between(low: float | None, high: float | None) -> float | None:
    """Some number between two that events can hold: infinities and any double, longs."""
    if low is None or high is None:
        return -math.inf if low is None else math.inf
    double = float(low)
    if double <= low:
        double = math.nextafter(double, math.inf)
    if double < high:
        return double
    whole = math.floor(low) + 1
    return whole if _LONG_MIN <= whole <= _LONG_MAX and whole < high else None

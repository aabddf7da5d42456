"""From columns to texts of the expression language."""

from collections.abc import Callable, Mapping, Sequence
from enum import IntEnum
from itertools import pairwise

import numpy as np

from benchmarks.workloads.chance import Integers
from benchmarks.workloads.columns import Conjunctions

Template = Callable[[str, int, int], str]
"""Writes the predicate that holds from the second argument to the third."""


class Operator(IntEnum):
    """How an interval is written."""

    EQUAL = 0
    LESS = 1
    AT_MOST = 2
    GREATER = 3
    AT_LEAST = 4
    BETWEEN = 5
    EQUAL_TEXT = 6
    STARTS_WITH = 7


NUMERIC: Mapping[int, Template] = {
    Operator.EQUAL: lambda name, low, _high: f"{name} = {low}",
    Operator.LESS: lambda name, _low, high: f"{name} < {high + 1}",
    Operator.AT_MOST: lambda name, _low, high: f"{name} <= {high}",
    Operator.GREATER: lambda name, low, _high: f"{name} > {low - 1}",
    Operator.AT_LEAST: lambda name, low, _high: f"{name} >= {low}",
    Operator.BETWEEN: lambda name, low, high: f"{name} between {low} and {high}",
}


def by_kind(kinds: Integers, write: Callable[[int, Integers], Sequence[str]]) -> list[str]:
    """Texts in order, where `write(kind, positions)` writes all those of one kind at once."""
    texts = np.empty(len(kinds), object)
    for kind in np.unique(kinds):
        positions = np.flatnonzero(kinds == kind)
        texts[positions] = write(int(kind), positions)
    written: list[str] = texts.tolist()
    return written


def joined(operands: Sequence[str], offsets: Integers, connective: str) -> list[str]:
    """One text a row of operands."""
    return [connective.join(operands[begin:end]) for begin, end in pairwise(offsets.tolist())]


def conjunction_texts(
    conjunctions: Conjunctions, names: Sequence[str], templates: Mapping[int, Template], connective: str = " and "
) -> list[str]:
    """The subscriptions as texts; `names` are the attributes', spelled as the language wants them."""

    def write(kind: int, positions: Integers) -> list[str]:
        template = templates[kind]
        attributes: list[int] = conjunctions.attributes[positions].tolist()
        lows, highs = conjunctions.lows[positions].tolist(), conjunctions.highs[positions].tolist()
        columns = zip(attributes, lows, highs, strict=True)
        return [template(names[attribute], low, high) for attribute, low, high in columns]

    predicates = by_kind(conjunctions.operators, write)
    if conjunctions.weights is not None:
        millionths = np.rint(conjunctions.weights * 1_000_000).astype(np.int64).tolist()
        predicates = [
            f"{text} weight {weight // 1_000_000}.{weight % 1_000_000:06}"
            for text, weight in zip(predicates, millionths, strict=True)
        ]
    return joined(predicates, conjunctions.offsets, connective)

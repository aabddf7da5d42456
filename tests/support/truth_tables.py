"""Which of some events an expression is true for, by the reference: a predicate is asked once for each value.

A table is two whole numbers, with a bit an event where the expression is true and where it is false. What is in neither
is unknown. Connectives join whole tables, so thousands of expressions on thousands of events are soon told.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from reference import And, Chain, Node, Not, Or, Predicate, evaluate, occurrences


class Table(NamedTuple):
    true: int
    false: int


class TruthTables:
    """Of a fixed list of events. A node is known by its identity, so shared nodes are evaluated once."""

    def __init__(self, events: Sequence[Mapping[str, Any]], weights: Sequence[Mapping[str, float] | None] = ()) -> None:
        self.count = len(events)
        self._weights = weights
        self._factors: dict[str, NDArray[np.float64]] = {}
        self._all = (1 << len(events)) - 1
        self._values = _distinct_values(events)
        self._known: dict[int, tuple[Node, Table]] = {}

    def table(self, node: Node) -> Table:
        known = self._known.get(id(node))
        if known is None:
            known = self._known[id(node)] = node, self._evaluated(node)  # the node stays, and so does its identity
        return known[1]

    def matches(self, held: Mapping[int, Node]) -> tuple[NDArray[np.uint64], NDArray[np.uint32]]:
        """Where each event's ids begin, and the ids, ascending, of the expressions that are true for it."""
        ids = np.array(sorted(held), np.uint32)
        width = (self.count + 7) // 8
        rows = b"".join(self.table(held[number]).true.to_bytes(width, "little") for number in ids.tolist())
        bits = np.frombuffer(rows, np.uint8).reshape(len(ids), width)
        true = np.unpackbits(bits, axis=1, count=self.count, bitorder="little")
        events, places = np.nonzero(true.T)
        counts = np.bincount(events, minlength=self.count)
        return np.concatenate((np.zeros(1, np.uint64), np.cumsum(counts, dtype=np.uint64))), ids[places]

    def scores(self, node: Node) -> NDArray[np.float64]:
        """For each event, added up in the order of the text."""
        total = np.zeros(self.count, np.float64)
        for predicate, negated in occurrences(node):
            table = self.table(predicate)
            speaks = self.bits(table.false if negated else table.true)
            with np.errstate(over="ignore"):
                total[speaks] += predicate.weight * self._factors_of(predicate.attribute)[speaks]
        return total

    def bits(self, mask: int) -> NDArray[np.bool_]:
        packed = np.frombuffer(mask.to_bytes((self.count + 7) // 8, "little"), np.uint8)
        return np.unpackbits(packed, count=self.count, bitorder="little").astype(np.bool_)

    def _factors_of(self, attribute: str) -> NDArray[np.float64]:
        known = self._factors.get(attribute)
        if known is None:
            factors = [(given or {}).get(attribute, 1.0) for given in self._weights]
            known = self._factors[attribute] = np.array(factors, np.float64)
        return known

    def _evaluated(self, node: Node) -> Table:
        match node:
            case Predicate():
                return self._asked(node)
            case Not():
                inner = self.table(node.child)
                return Table(inner.false, inner.true)
            case And():
                true, false = self._all, 0
                for table in map(self.table, node.children):
                    true, false = true & table.true, false | table.false
                return Table(true, false)
            case Or():
                true, false = 0, self._all
                for table in map(self.table, node.children):
                    true, false = true | table.true, false & table.false
                return Table(true, false)
            case Chain():
                joined = self.table(node.first)
                for operator, operand in node.rest:
                    side = self.table(operand)
                    unlike = joined.true & side.false | joined.false & side.true
                    alike = joined.true & side.true | joined.false & side.false
                    joined = Table(unlike, alike) if operator == "xor" else Table(alike, unlike)
                return joined

    def _asked(self, predicate: Predicate) -> Table:
        true = false = 0
        present = 0
        for value, where in self._values.get(predicate.attribute, {}).values():
            present |= where
            truth = evaluate(predicate, {predicate.attribute: value})
            true |= where if truth is True else 0
            false |= where if truth is False else 0
        absent = self._all & ~present
        truth = evaluate(predicate, {})
        return (
            Table(true | absent, false) if truth is True else Table(true, false | absent if truth is False else false)
        )


def _distinct_values(events: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, tuple[Any, int]]]:
    """By attribute: each value, written as Python would (1, 1.0 and True are three), and in which events it is."""
    found: dict[str, dict[str, tuple[Any, int]]] = {}
    for position, event in enumerate(events):
        for name, value in event.items():
            values = found.setdefault(name, {})
            _, where = values.get(repr(value), (value, 0))
            values[repr(value)] = value, where | 1 << position
    return found

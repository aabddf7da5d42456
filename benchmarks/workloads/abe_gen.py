"""ABE-Gen: arbitrary Boolean expressions that share subexpressions (a-tree-2021, section 6.1 and Table 3)."""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np

from benchmarks.workloads.be_gen import spread
from benchmarks.workloads.chance import Integers, Popularity, distinct, offsets_of, stream, zipf
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.texts import by_kind
from benchmarks.workloads.workload import (
    ALPHA_MAX,
    EVENTS_A_CHUNK,
    MANY,
    SUBSCRIPTIONS_A_CHUNK,
    TABLE_MAX,
    Event,
    Workload,
)

_CONNECTIVES = ("and", "or", "not", "xor", "xnor")
_OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "between", "in", "not in")
_CHILDREN_MIN = 2
_ARITIES = np.array([0, 0, 1, 2, 2])  # 0: drawn, from 2
_MEMBERS_MAX = 4
_DEPTH_MAX = 30  # the language allows 64 levels, and a `not` in parentheses takes two


@dataclass(frozen=True, kw_only=True)
class ABEGen(Workload):
    """The parameters of Table 3; defaults are its bold ones.

    Nodes are drawn from the root down; those of depth `tree_depth` are predicates. With `alpha` above 0 each level
    below the root has a pool of `number_of_expressions` subexpressions, whose parts come from the pool of the level
    below, and every child is drawn from its pool by Zipf; with 0 all subexpressions are drawn afresh.
    """

    number_of_expressions: int = 1_000_000
    operator_distribution: tuple[float, float, float, float, float] = (0.4, 0.4, 0.1, 0.05, 0.05)
    """Of and, or, not, xor, xnor"""
    tree_depth: int = 3
    child_node_number: int = 4
    """Of an `and` or `or`, on average: uniform from half of it to one and a half"""
    alpha: float = 0.6
    """Of subexpressions"""
    dimension_number: int = 1_000
    dimension_cardinality: int = 100
    event_size: int = 20
    dimension_alpha: float = 0.6
    """Of the attributes of predicates and events"""
    root_children: tuple[int, ...] = ()
    """If given as (fewest, most), the root is an `and` of so many children, and these are no `and`"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, MANY, "number_of_expressions", "dimension_cardinality")
        self.require(1, TABLE_MAX, "dimension_number")
        self.require(1, _DEPTH_MAX, "tree_depth")
        self.require(_CHILDREN_MIN, MANY, "child_node_number")
        self.require(1, self.dimension_number, "event_size")
        self.require(0, ALPHA_MAX, "alpha", "dimension_alpha")
        given = self.operator_distribution
        if len(given) != len(_CONNECTIVES) or min(given) < 0 or not math.isclose(sum(given), 1):
            raise WorkloadError(f"operator_distribution = {given} is not one share each of {_CONNECTIVES}, 1 together")
        children = self.root_children
        if children and not (len(children) == _CHILDREN_MIN and _CHILDREN_MIN <= children[0] <= children[1]):
            raise WorkloadError(f"root_children = {children} is not (fewest, most) with 2 or more")
        if children and given[0] == 1:
            raise WorkloadError("root_children are no `and`, but operator_distribution has nothing else")

    def asked(self) -> dict[str, float]:
        asked: dict[str, float] = {"pairs an event": self.event_size}
        if not self.root_children:
            shares = zip(_CONNECTIVES, self.operator_distribution, strict=True)
            asked |= {f"connective {connective}": share for connective, share in shares if share}
        return asked

    def sized(self, count: int) -> Self:
        return replace(self, number_of_expressions=count)

    def subscription_chunk(self, number: int) -> list[str]:
        return self._fresh(stream(self.seed, "subscriptions", number), self.tree_depth, SUBSCRIPTIONS_A_CHUNK)

    def event_chunk(self, number: int) -> list[Event]:
        chance = stream(self.seed, "events", number)
        sizes = np.full(EVENTS_A_CHUNK, self.event_size)
        attributes = distinct(chance, self._attributes, sizes).reshape(EVENTS_A_CHUNK, -1)
        values = chance.integers(0, self.dimension_cardinality, attributes.shape)
        names = self._names
        rows = zip(attributes.tolist(), values.tolist(), strict=True)
        return [dict(zip([names[a] for a in row], held, strict=True)) for row, held in rows]

    def _fresh(self, chance: np.random.Generator, height: int, count: int) -> list[str]:
        """So many expressions of this height, newly drawn; what is shared lies below them."""
        if height == 1:
            return self._predicates(chance, count)
        kinds, sizes = self._nodes(chance, height, count)
        offsets = offsets_of(sizes)
        children = self._children(chance, height - 1, int(offsets[-1]))

        def write(kind: int, positions: Integers) -> list[str]:
            connective = _CONNECTIVES[kind]
            begins, ends = offsets[positions].tolist(), offsets[positions + 1].tolist()
            if connective == "not":
                return [f"not {children[begin]}" for begin in begins]
            return [f" {connective} ".join(children[a:b]) for a, b in zip(begins, ends, strict=True)]

        texts = by_kind(kinds, write)
        return texts if height == self.tree_depth else [f"({text})" for text in texts]

    def _nodes(self, chance: np.random.Generator, height: int, count: int) -> tuple[Integers, Integers]:
        """Connectives, and how many children each has."""
        probabilities = np.array(self.operator_distribution)
        if self.root_children:
            if height == self.tree_depth:
                fewest, most = self.root_children
                return np.zeros(count, np.int64), chance.integers(fewest, most + 1, count)
            if height == self.tree_depth - 1:
                probabilities[_CONNECTIVES.index("and")] = 0
        kinds = chance.choice(len(_CONNECTIVES), count, p=probabilities / probabilities.sum())
        return kinds, np.where(_ARITIES[kinds], _ARITIES[kinds], spread(chance, self.child_node_number, count))

    def _children(self, chance: np.random.Generator, height: int, count: int) -> list[str]:
        if self.alpha == 0:
            return self._fresh(chance, height, count)
        pool = self._pool(height)
        return [pool[rank] for rank in self._shared.draw(chance, count).tolist()]

    def _pool(self, height: int) -> list[str]:
        """What expressions of a greater height share."""
        if height not in self._pools:
            self._pools[height] = self._fresh(stream(self.seed, "pool", height), height, self.number_of_expressions)
        return self._pools[height]

    @cached_property
    def _pools(self) -> dict[int, list[str]]:
        return {}

    @cached_property
    def _shared(self) -> Popularity:
        return zipf(self.number_of_expressions, self.alpha)

    @cached_property
    def _attributes(self) -> Popularity:
        return zipf(self.dimension_number, self.dimension_alpha)

    @cached_property
    def _names(self) -> list[str]:
        return [f"attr{number}" for number in range(self.dimension_number)]

    def _predicates(self, chance: np.random.Generator, count: int) -> list[str]:
        names = [self._names[attribute] for attribute in self._attributes.draw(chance, count).tolist()]
        values = chance.integers(0, self.dimension_cardinality, (count, _MEMBERS_MAX)).tolist()
        members = chance.integers(2, _MEMBERS_MAX + 1, count).tolist()

        def write(kind: int, positions: Integers) -> list[str]:
            operator = _OPERATORS[kind]
            here = positions.tolist()
            if operator == "between":
                return [f"{names[at]} between {min(values[at][:2])} and {max(values[at][:2])}" for at in here]
            if operator in ("in", "not in"):
                return [
                    f"{names[at]} {operator} ({', '.join(map(str, dict.fromkeys(values[at][: members[at]])))})"
                    for at in here
                ]
            return [f"{names[at]} {operator} {values[at][0]}" for at in here]

        return by_kind(chance.integers(0, len(_OPERATORS), count), write)

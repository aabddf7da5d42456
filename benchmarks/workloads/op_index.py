"""The workloads of OpIndex's own generator (opindex-2014, section 7.1 and Table 3)."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from benchmarks.workloads.chance import Integers, Popularity, distinct, offsets_of, stream, zipf
from benchmarks.workloads.columns import Conjunctions, Pairs
from benchmarks.workloads.errors import WorkloadError
from benchmarks.workloads.intervals import IntervalWorkload
from benchmarks.workloads.texts import Operator, conjunction_texts, joined
from benchmarks.workloads.workload import ALPHA_MAX, SUBSCRIPTIONS_A_CHUNK, TABLE_MAX

_CLAUSES_MAX = 1_000

NormalForm = Literal["dnf", "cnf"]


@dataclass(frozen=True, kw_only=True)
class OpIndexSizes(IntervalWorkload):
    """Sizes are uniform from 1 to their maximum."""

    maximum_subscription_size: int = 12
    """Γmax"""
    maximum_event_size: int = 60
    """m"""
    value_space: int = 800
    """Called sigma: values are 1 to this"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, TABLE_MAX, "maximum_subscription_size", "maximum_event_size", "value_space")

    def asked(self) -> dict[str, float]:
        return {
            "predicates a subscription": (1 + self.maximum_subscription_size) / 2,
            "pairs an event": (1 + self.maximum_event_size) / 2,
        }

    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        return chance.integers(1, self.maximum_subscription_size + 1, count)

    def event_sizes(self, chance: np.random.Generator, count: int) -> Integers:
        return chance.integers(1, self.maximum_event_size + 1, count)


@dataclass(frozen=True, kw_only=True)
class OpIndex(OpIndexSizes):
    """The parameters of Table 3. All is drawn at random, so few subscriptions match."""

    dimensions: int = 20_000
    """d"""
    equal_operator_share: float = 0.6
    """θ1; the rest is halved between <= and >="""
    zipf: float = 0.0
    """Of attributes and of values"""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(max(self.maximum_subscription_size, self.maximum_event_size), TABLE_MAX, "dimensions")
        self.require(0, 1, "equal_operator_share")
        self.require(0, ALPHA_MAX, "zipf")

    def asked(self) -> dict[str, float]:
        return super().asked() | {
            "operator =": self.equal_operator_share,
            "operator <=": (1 - self.equal_operator_share) / 2,
            "operator >=": (1 - self.equal_operator_share) / 2,
        }

    @cached_property
    def names(self) -> list[str]:
        return [f"attr{number}" for number in range(self.dimensions)]

    def picks(self, chance: np.random.Generator, sizes: Integers) -> tuple[Integers, Integers]:
        attributes = distinct(chance, self._attributes, sizes)
        return attributes, 1 + self._values.draw(chance, len(attributes))

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        del attributes
        inequality = np.array([Operator.AT_MOST, Operator.AT_LEAST])[chance.integers(0, 2, len(values))]
        equal = chance.random(len(values)) < self.equal_operator_share
        operators = np.where(equal, Operator.EQUAL, inequality)
        lows = np.where(operators == Operator.AT_MOST, 1, values)
        highs = np.where(operators == Operator.AT_LEAST, self.value_space, values)
        return operators, lows, highs

    @cached_property
    def _attributes(self) -> Popularity:
        return zipf(self.dimensions, self.zipf)

    @cached_property
    def _values(self) -> Popularity:
        return zipf(self.value_space, self.zipf)


@dataclass(frozen=True, kw_only=True)
class OpIndexClauses(OpIndex):
    """Section 7.6: 1 to `maximum_clauses` clauses in a normal form, each drawn as one of OpIndex's subscriptions."""

    normal_form: NormalForm = "dnf"
    maximum_clauses: int = 5

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, _CLAUSES_MAX, "maximum_clauses")
        if self.normal_form not in get_args(NormalForm):
            raise WorkloadError(f"normal_form = {self.normal_form!r} is neither 'dnf' nor 'cnf'")

    def asked(self) -> dict[str, float]:
        asked = super().asked()
        asked["predicates a subscription"] *= (1 + self.maximum_clauses) / 2
        return asked

    def subscription_chunk(self, number: int) -> list[str]:
        chance = stream(self.seed, "subscriptions", number)
        clauses = chance.integers(1, self.maximum_clauses + 1, SUBSCRIPTIONS_A_CHUNK)
        sizes = self.sizes(chance, int(clauses.sum()))
        columns = self.conjoined(chance, sizes, *self.picks(chance, sizes))
        inner, outer = (" and ", " or ") if self.normal_form == "dnf" else (" or ", " and ")
        texts = conjunction_texts(columns, self.spelled_names, self.templates, inner)
        grouped = [f"({text})" if size > 1 else text for text, size in zip(texts, sizes.tolist(), strict=True)]
        return joined(grouped, offsets_of(clauses), outer)

    def conjunctions(self, count: int) -> Conjunctions | None:
        del count
        return None

    def pairs(self, count: int) -> Pairs | None:
        del count
        return None

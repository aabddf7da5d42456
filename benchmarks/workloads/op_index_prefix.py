"""OpIndex's workload of strings: equality and prefixes (opindex-2014, section 7.7)."""

from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from benchmarks.workloads.chance import Integers, Popularity, distinct, stream, zipf
from benchmarks.workloads.op_index import OpIndexSizes
from benchmarks.workloads.texts import Operator, Template
from benchmarks.workloads.words import words
from benchmarks.workloads.workload import ALPHA_MAX, MANY, TABLE_MAX, Value

_AFTER_LETTERS = "{"
_WORDS_MAX = 1_000_000


@dataclass(frozen=True, kw_only=True)
class OpIndexPrefix(OpIndexSizes):
    """Values of string attributes are words, by rank in their sorted list: a prefix is an interval of ranks."""

    numeric_dimensions: int = 10_000
    string_dimensions: int = 100
    prefix_share: float = 0.5
    """Of the predicates; these are on string attributes, the others on any attribute."""
    prefix_length: int = 3
    vocabulary: int = 50_000
    word_alpha: float = 1.0
    """Words are drawn by Zipf."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(0, TABLE_MAX, "numeric_dimensions")
        self.require(max(self.maximum_subscription_size, self.maximum_event_size), TABLE_MAX, "string_dimensions")
        self.require(0, 1, "prefix_share")
        self.require(1, _WORDS_MAX, "vocabulary")
        self.require(1, MANY, "prefix_length")
        self.require(0, ALPHA_MAX, "word_alpha")

    def asked(self) -> dict[str, float]:
        return super().asked() | {
            "operator starts with": self.prefix_share,
            "operator =": 1 - self.prefix_share,
        }

    @cached_property
    def names(self) -> list[str]:
        numeric = [f"attr{number}" for number in range(self.numeric_dimensions)]
        return numeric + [f"text{number}" for number in range(self.string_dimensions)]

    @property
    def templates(self) -> Mapping[int, Template]:
        listed, length = self._words, self.prefix_length
        return {
            Operator.EQUAL: lambda name, low, _high: f"{name} = {low}",
            Operator.EQUAL_TEXT: lambda name, low, _high: f'{name} = "{listed[low]}"',
            Operator.STARTS_WITH: lambda name, low, _high: f'{name} starts with "{listed[low][:length]}"',
        }

    def plain(self, attributes: Integers, values: Integers) -> list[Value]:
        pairs = zip(attributes.tolist(), values.tolist(), strict=True)
        return [value if attribute < self.numeric_dimensions else self._words[value] for attribute, value in pairs]

    def picks(self, chance: np.random.Generator, sizes: Integers) -> tuple[Integers, Integers]:
        attributes = distinct(chance, self._attributes, sizes)
        numbers = chance.integers(1, self.value_space + 1, len(attributes))
        ranks = self._ranks[self._popular.draw(chance, len(attributes))]
        return attributes, np.where(attributes < self.numeric_dimensions, numbers, ranks)

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        text = attributes >= self.numeric_dimensions
        of_text = self._attributes.weights[self.numeric_dimensions :].sum() / self._attributes.weights.sum()
        prefix = text & (chance.random(len(values)) < self.prefix_share / of_text)
        operators = np.where(prefix, Operator.STARTS_WITH, np.where(text, Operator.EQUAL_TEXT, Operator.EQUAL))
        lows, highs = values.copy(), values.copy()
        lows[prefix], highs[prefix] = self._prefixes[0][values[prefix]], self._prefixes[1][values[prefix]]
        return operators, lows, highs

    @cached_property
    def _attributes(self) -> Popularity:
        """A prefix asks for any string attribute, an equality for any attribute."""
        dimensions = self.numeric_dimensions + self.string_dimensions
        weights = np.full(dimensions, (1 - self.prefix_share) / dimensions)
        weights[self.numeric_dimensions :] += self.prefix_share / self.string_dimensions
        return Popularity(weights)

    @cached_property
    def _words(self) -> list[str]:
        return words(stream(self.seed, "words"), self.vocabulary)

    @cached_property
    def _popular(self) -> Popularity:
        return zipf(self.vocabulary, self.word_alpha)

    @cached_property
    def _ranks(self) -> Integers:
        """From popularity to place in the sorted list."""
        return stream(self.seed, "popular words").permutation(self.vocabulary)

    @cached_property
    def _prefixes(self) -> tuple[Integers, Integers]:
        """For each word the first and the last one with its prefix."""
        prefixes = [word[: self.prefix_length] for word in self._words]
        bounds = {
            prefix: (bisect_left(self._words, prefix), bisect_left(self._words, prefix + _AFTER_LETTERS) - 1)
            for prefix in set(prefixes)
        }
        first, last = zip(*(bounds[prefix] for prefix in prefixes), strict=True)
        return np.array(first), np.array(last)

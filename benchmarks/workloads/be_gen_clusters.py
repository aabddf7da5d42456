"""BE-Gen as BE*-Tree's evaluation sets it (be-star-tree-2012, section VII, Table III): huge, clustered domains."""

from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from benchmarks.workloads.be_gen import spread
from benchmarks.workloads.chance import Floats, Integers, Popularity, stream, zipf
from benchmarks.workloads.seeding import SeededWorkload
from benchmarks.workloads.texts import Operator
from benchmarks.workloads.workload import ALPHA_MAX, MANY, TABLE_MAX

_DIGITS = 6
_CLUSTERS_MAX = 1_000


@dataclass(frozen=True, kw_only=True)
class BEGenClusters(SeededWorkload):
    """The parameters of Table III; defaults are those of its column "Workload Size".

    The values of a dimension lie in clusters at random places, so that two of one cluster differ by `cluster_size` at
    most; `number_of_clusters` 0 spreads them over the whole domain. Every predicate is a BETWEEN over 2 to
    `range_size` values.
    """

    number_of_dimensions: int = 400
    cardinality: int = 250_000_000
    number_of_clusters: int = 4
    cluster_size: int = 100
    subscription_size: int = 8
    event_size: int = 15
    match_probability: float = 0.001
    alpha: float = 0.0
    range_size: int = 6
    weighted: bool = True
    """Whether predicates and events carry weights, for top-k."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self.require(1, TABLE_MAX, "number_of_dimensions")
        self.require(1, MANY, "cardinality")
        self.require(0, _CLUSTERS_MAX, "number_of_clusters")
        self.require(0, self.cardinality - 1, "cluster_size")
        self.require(1, self.number_of_dimensions, "subscription_size", "event_size")
        self.require(2, self.cardinality, "range_size")
        self.require(0, 1, "match_probability")
        self.require(0, ALPHA_MAX, "alpha")

    @property
    def wanted(self) -> float:
        return self.match_probability

    @property
    def pairs_an_event(self) -> int:
        return self.event_size

    @cached_property
    def popularity(self) -> Popularity:
        return zipf(self.number_of_dimensions, self.alpha)

    def asked(self) -> dict[str, float]:
        return {
            "predicates a subscription": self.subscription_size,
            "operator between": 1,
            "pairs an event": self.event_size,
            "matching probability": self.match_probability,
        }

    def sizes(self, chance: np.random.Generator, count: int) -> Integers:
        return spread(chance, self.subscription_size, count)

    def values(self, chance: np.random.Generator, attributes: Integers) -> Integers:
        if not self.number_of_clusters:
            return chance.integers(0, self.cardinality, len(attributes))
        cluster = chance.integers(0, self.number_of_clusters, len(attributes))
        return self._cluster_begins[attributes, cluster] + chance.integers(0, self.cluster_size + 1, len(attributes))

    def predicates(
        self, chance: np.random.Generator, attributes: Integers, values: Integers
    ) -> tuple[Integers, Integers, Integers]:
        del attributes
        wider = chance.integers(1, self.range_size, len(values))
        lows = values - chance.integers(0, wider + 1)
        highs = np.minimum(lows + wider, self.cardinality - 1)
        return np.full(len(values), Operator.BETWEEN), np.maximum(lows, 0), highs

    def weights(self, chance: np.random.Generator, attributes: Integers) -> Floats | None:
        """A rare attribute weighs more than a popular one, and none more than its inverse frequency."""
        if not self.weighted:
            return None
        inverse = self._inverse_frequencies[attributes]
        drawn = inverse * chance.normal(0.8, 0.05, len(attributes))
        return np.maximum(np.minimum(inverse, drawn).round(_DIGITS), 10.0**-_DIGITS)

    def event_weights(self, count: int) -> list[dict[str, float]] | None:
        pairs = self.pairs(count)
        if not self.weighted or pairs is None:
            return None
        weights = self.weights(stream(self.seed, "event weights"), pairs.attributes)
        assert weights is not None
        named = [(self.names[a], w) for a, w in zip(pairs.attributes.tolist(), weights.tolist(), strict=True)]
        return [dict(named[begin:end]) for begin, end in pairwise(pairs.offsets.tolist())]

    @cached_property
    def _cluster_begins(self) -> Integers:
        shape = self.number_of_dimensions, self.number_of_clusters
        return stream(self.seed, "clusters").integers(0, self.cardinality - self.cluster_size, shape)

    @cached_property
    def _inverse_frequencies(self) -> Floats:
        """Of attributes; the rarest has 1."""
        inverse: Floats = self.popularity.weights.min() / self.popularity.weights
        return inverse

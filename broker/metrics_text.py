"""Prometheus's text format: families of samples, and histograms that are plain numbers until somebody asks.

What is counted is counted by whole batches in ints and floats; the text is made when it is asked for, in the thread
that asks. Counting one event by way of the usual client library would cost more than decoding it.
"""

import math
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import accumulate

import numpy as np
import numpy.typing as npt

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPED = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_ESCAPED_HELP = str.maketrans({"\\": "\\\\", "\n": "\\n"})


class Kind(StrEnum):
    """What may be done with a family's numbers."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


class Histogram:
    """How many observations were at most so large, for some bounds; and their sum.

    One thread observes, any may read: counts are read at once, so that a reader's buckets agree with their total.
    """

    def __init__(self, bounds: Sequence[float]) -> None:
        self._bounds = tuple(bounds)
        self._edges = np.array(bounds)
        self._counts = [0] * (len(bounds) + 1)
        self._sum = 0.0

    def observe(self, value: float) -> None:
        self._counts[bisect_left(self._bounds, value)] += 1
        self._sum += value

    def observe_all(self, values: npt.NDArray[np.float64]) -> None:
        found = np.bincount(np.searchsorted(self._edges, values), minlength=len(self._counts))
        self._counts = [before + more for before, more in zip(self._counts, found.tolist(), strict=True)]
        self._sum += float(values.sum())

    def lines(self, name: str) -> Iterator[str]:
        """Its samples; each bucket holds those before it too."""
        totals = list(accumulate(list(self._counts)))
        for bound, total in zip((*self._bounds, math.inf), totals, strict=True):
            yield f'{name}_bucket{{le="{_number(bound)}"}} {total}'
        yield f"{name}_sum {_number(self._sum)}"
        yield f"{name}_count {totals[-1]}"


Labels = Mapping[str, str | int]
_NONE: Labels = {}


@dataclass(frozen=True, slots=True)
class Family:
    """All samples of one name."""

    name: str
    kind: Kind
    help: str
    samples: Iterable[tuple[Labels, float]] = ()
    histogram: Histogram | None = None

    @classmethod
    def single(cls, name: str, kind: Kind, help: str, value: float) -> "Family":
        return cls(name, kind, help, [(_NONE, value)])

    def lines(self) -> Iterator[str]:
        yield f"# HELP {self.name} {self.help.translate(_ESCAPED_HELP)}"
        yield f"# TYPE {self.name} {self.kind}"
        if self.histogram is not None:
            yield from self.histogram.lines(self.name)
        for labels, value in self.samples:
            told = ",".join(f'{key}="{str(of_key).translate(_ESCAPED)}"' for key, of_key in labels.items())
            yield f"{self.name}{{{told}}} {_number(value)}" if told else f"{self.name} {_number(value)}"


def text_of(families: Iterable[Family]) -> str:
    return "".join(f"{line}\n" for family in families for line in family.lines())


def _number(value: float) -> str:
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(value)

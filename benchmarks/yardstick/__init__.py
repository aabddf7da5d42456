"""The yardstick: plain C++ that engines are compared with, built, fed and run."""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np

from tamis.indexes import Expressions, parse_many

_SOURCE = Path(__file__).parent / "yardstick.cpp"

Event = dict[str, int]


@dataclass(frozen=True)
class Run:
    """What the yardstick says of one run."""

    us_an_event: float
    ids: int
    structure_bytes: int


@dataclass(frozen=True)
class Yardstick:
    """The program in a folder, and a workload that it made there, or that was written there as columns."""

    folder: Path

    @classmethod
    def built(cls, folder: Path) -> "Yardstick":
        compiler = os.environ.get("CXX", "c++")
        program = folder / "yardstick"
        subprocess.run([compiler, "-O3", "-march=native", "-std=c++20", _SOURCE, "-o", program], check=True)
        return cls(folder)

    def make(self, *parameters: str) -> None:
        """Subscriptions, dimensions, cardinality, predicates, event size, equality, seeded share, Zipf."""
        subprocess.run([self.folder / "yardstick", "make", self.folder, *parameters], check=True)

    def run(self, method: str, events: int) -> Run:
        command: list[str | Path] = [self.folder / "yardstick", "run", self.folder, method, str(events)]
        told = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        return Run(float(told["us_an_event"]), int(told["ids"]), int(told["structure_bytes"]))

    def workload(self, events_max: int) -> tuple[Expressions, list[Event]]:
        """As expressions of the language, and events."""
        starts, attributes = self._column("subscription_offsets"), self._column("subscription_attributes")
        lows, highs = self._column("subscription_lows"), self._column("subscription_highs")
        lowest, highest = min(lows), max(highs)

        def predicate(at: int) -> str:
            name, low, high = f"a{attributes[at]}", lows[at], highs[at]
            if low == high:
                return f"{name} = {low}"
            if low == lowest:
                return f"{name} <= {high}"
            return f"{name} >= {low}" if high == highest else f"{name} between {low} and {high}"

        texts = [" and ".join(map(predicate, range(start, end))) for start, end in pairwise(starts)]
        expressions, errors = parse_many(texts)
        assert not errors
        ends, names = self._column("event_offsets"), self._column("event_attributes")
        values = self._column("event_values")
        spans = list(pairwise(ends))[:events_max]
        return expressions, [{_name(names[at]): values[at] for at in range(start, end)} for start, end in spans]

    def _column(self, name: str) -> Sequence[int]:
        column: list[int] = np.load(self.folder / f"{name}.npy").tolist()
        return column


def _name(attribute: int) -> str:
    return sys.intern(f"a{attribute}")

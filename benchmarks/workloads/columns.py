"""Conjunctions of intervals, and events, as columns of integers."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.workloads.chance import Booleans, Floats, Integers, offsets_of, positions_of

_SUBSCRIPTION_COLUMNS = ("offsets", "attributes", "lows", "highs")
_EVENT_COLUMNS = ("offsets", "attributes", "values")
COLUMN_FILES = (
    *(f"subscription_{name}.npy" for name in _SUBSCRIPTION_COLUMNS),
    *(f"event_{name}.npy" for name in _EVENT_COLUMNS),
)
_MISSING = np.iinfo(np.int64).min


@dataclass(frozen=True)
class Conjunctions:
    """Subscription i is the predicates `offsets[i]` to `offsets[i + 1]`, all of which must hold.

    A predicate holds for the values from `lows` to `highs`, both included; `operators` says how it is written.
    """

    offsets: Integers
    attributes: Integers
    operators: Integers
    lows: Integers
    highs: Integers
    weights: Floats | None = None

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def save(self, folder: Path) -> None:
        for name in _SUBSCRIPTION_COLUMNS:
            _save(folder / f"subscription_{name}.npy", getattr(self, name))


@dataclass(frozen=True)
class Pairs:
    """Event i is the pairs of attribute and value `offsets[i]` to `offsets[i + 1]`."""

    offsets: Integers
    attributes: Integers
    values: Integers

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def save(self, folder: Path) -> None:
        for name in _EVENT_COLUMNS:
            _save(folder / f"event_{name}.npy", getattr(self, name))


def _save(path: Path, column: Integers) -> None:
    np.save(path, column.astype("<i8"), allow_pickle=False)


def first_conjunctions(parts: Sequence[Conjunctions], count: int) -> Conjunctions:
    """The parts, one after another, cut to the first `count` subscriptions."""
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])[:count])
    size = int(offsets[-1])
    weights = [part.weights for part in parts if part.weights is not None]
    return Conjunctions(
        offsets,
        np.concatenate([part.attributes for part in parts])[:size],
        np.concatenate([part.operators for part in parts])[:size],
        np.concatenate([part.lows for part in parts])[:size],
        np.concatenate([part.highs for part in parts])[:size],
        np.concatenate(weights)[:size] if weights else None,
    )


def first_pairs(parts: Sequence[Pairs], count: int) -> Pairs:
    """The parts, one after another, cut to the first `count` events."""
    offsets = offsets_of(np.concatenate([np.diff(part.offsets) for part in parts])[:count])
    size = int(offsets[-1])
    return Pairs(
        offsets,
        np.concatenate([part.attributes for part in parts])[:size],
        np.concatenate([part.values for part in parts])[:size],
    )


def chosen_pairs(pairs: Pairs, rows: Integers) -> Pairs:
    """These events, in this order."""
    positions = positions_of(rows, pairs.offsets)
    return Pairs(offsets_of(np.diff(pairs.offsets)[rows]), pairs.attributes[positions], pairs.values[positions])


def matches(conjunctions: Conjunctions, pairs: Pairs) -> Booleans:
    """For each event a row, and for each subscription a column: whether it matches."""
    dimensions = max(int(conjunctions.attributes.max(initial=0)), int(pairs.attributes.max(initial=0))) + 1
    values = np.full(dimensions, _MISSING, np.int64)
    answers = np.zeros((len(pairs), len(conjunctions)), np.bool_)
    for event in range(len(pairs)):
        here = slice(pairs.offsets[event], pairs.offsets[event + 1])
        values[pairs.attributes[here]] = pairs.values[here]
        found = values[conjunctions.attributes]
        holds = (found >= conjunctions.lows) & (found <= conjunctions.highs)
        np.logical_and.reduceat(holds, conjunctions.offsets[:-1], out=answers[event])
        values[pairs.attributes[here]] = _MISSING
    return answers

"""A point of an experiment: a workload of so many subscriptions, which all engines are asked about."""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from benchmarks.trials import Trial
from benchmarks.workloads.workload import Event, Workload
from tamis.indexes import parse_many

_EVENTS = 256
_EVENTS_MIN = 8
_LEARNED = 256
_BUILDS = 2
_ROUNDS = 3
_ROUND_SECONDS = 0.4
_BATCH = 64

Figures = dict[str, float]
"""What was measured of one engine, by name."""


@dataclass(frozen=True)
class Point:
    """Points that are equal are measured once, whichever figures show them."""

    workload: Workload
    subscriptions: int

    @property
    def key(self) -> str:
        """Its parameters, as text."""
        parameters = ", ".join(f"{name}={value}" for name, value in asdict(self.workload).items())
        return f"{type(self.workload).__name__}({parameters}) x {self.subscriptions}"


def measured(point: Point, engines: Sequence[str]) -> dict[str, Figures]:
    """Each engine's figures, taken in rounds in which all engines take turns on the same data.

    An engine is asked about as many events as it answers in a fraction of a second, and its work is counted on them;
    answers are compared on the fewest that any was asked about. Matching is measured as built, as papers do it,
    and again after the engine learned from other events of the workload.
    """
    workload = point.workload.sized(point.subscriptions)
    expressions, errors = parse_many(list(workload.subscriptions(point.subscriptions)))
    assert not errors
    events = workload.events(_EVENTS + _LEARNED)
    events, learned = events[:_EVENTS], events[_EVENTS:]
    trials = [Trial(engine, expressions) for engine in engines]
    for _ in range(_BUILDS):
        for trial in trials:
            trial.build()
    counts = {trial: _events_to_ask(trial, events) for trial in trials}
    for _ in range(_ROUNDS):
        for trial, count in counts.items():
            trial.match(1, count)
            trial.match(_BATCH, math.ceil(count / _BATCH))
    figures = {trial: _figures(trial, count) for trial, count in counts.items()}
    for trial in trials:
        trial.learn(learned)
        trial.us_an_event.clear()
    for _ in range(_ROUNDS):
        for trial, count in counts.items():
            trial.match(1, count)
    fewest = min(counts.values())
    first, *others = (trial.answers(fewest) for trial in trials)
    for trial, answers in zip(trials[1:], others, strict=True):
        for wanted, found in zip(first, answers, strict=True):
            assert wanted.tolist() == found.tolist(), (trial.engine, point.key)
    return {
        trial.engine: figures[trial]
        | {
            "learning_s": trial.learn_seconds,
            "learned_ms": trial.us_an_event[1] / 1e3,
            "learned_expressions_an_event": trial.work(count)["expressions"],
            "events": count,
        }
        for trial, count in counts.items()
    }


def _events_to_ask(trial: Trial, events: Sequence[Event]) -> int:
    trial.meet(events)
    trial.meet(events, _BATCH)
    trial.match(1, _EVENTS_MIN)  # warms up
    seconds = trial.match(1, _EVENTS_MIN) / _EVENTS_MIN
    return max(_EVENTS_MIN, min(len(events), math.floor(_ROUND_SECONDS / seconds)))


def _figures(trial: Trial, counted: int) -> Figures:
    memory = trial.index.memory_bytes()
    statistics = {name: value for name, value in trial.index.statistics().items() if isinstance(value, int | float)}
    return {
        "construction_s": trial.build_seconds,
        "matching_ms": trial.us_an_event[1] / 1e3,
        "batched_ms": trial.us_an_event[_BATCH] / 1e3,
        "structure_mb": memory["structure"] / 1e6,
        "all_mb": sum(memory.values()) / 1e6,
        **{f"{name}_an_event": times for name, times in trial.work(counted).items()},
        **{f"statistics_{name}": value for name, value in statistics.items()},
    }

"""What runs came to: a line of JSON each in a file that only grows, and a table of them."""

import dataclasses
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

CHAOS = "chaos"
ROLLING = "rolling"
SOAK = "soak"
MODES = (CHAOS, ROLLING, SOAK)
GAP_SECONDS_MAX = 5.0
"""How long no reader should see anything when processes are restarted one after the other."""
GROWTH_MAX = 0.05
"""How much more memory a process may have in the end than when it had warmed up."""
CLEAN = "clean"
_WANTED = {
    CHAOS: ("aborts", "rebalances", "kills_inside", "pairs"),
    ROLLING: ("restarts", "pairs"),
    SOAK: ("aborts", "rebalances", "pairs", "memory"),
}
"""What has to happen for a run to count."""


@dataclasses.dataclass(frozen=True)
class Trial:
    """What is tried; the same again would find the same, as far as it is not a matter of luck."""

    mode: str = CHAOS
    seed: int = 1
    seconds: float = 300.0
    """Of disturbance; in the mode `rolling` it takes as long as it takes."""
    kafka_brokers: int = 1
    rate: float = 400.0
    """Events a second."""
    processes: int = 4
    shards: int = 2
    rounds: int = 10
    """How often all processes are restarted, in the mode `rolling`."""


@dataclasses.dataclass
class Result:
    """One run. Times are in seconds."""

    mode: str = CHAOS
    seed: int = 1
    seconds: float = 0.0
    kafka_brokers: int = 1
    rate: float = 0.0
    processes: int = 0
    shards: int = 0
    rounds: int = 0
    took: float = 0.0
    events: int = 0
    kills: int = 0
    kills_inside: int = 0
    """Of processes whose transaction was open."""
    pauses: int = 0
    aborts: int = 0
    rebalances: int = 0
    """Partitions that were taken from a process which lived on, or that it gave back."""
    restarts: int = 0
    """By SIGTERM."""
    done: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    """What the director did, by kind."""
    points: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    """Deaths and freezes at points of a transaction."""
    restored: int = 0
    """Starts from a snapshot."""
    expected: int = 0
    delivered: int = 0
    undelivered: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    uncalled: int = 0
    misnamed: int = 0
    retold: int = 0
    views: int = 0
    splits: int = 0
    pairs: int = 0
    """Subscriptions that came and others that went, each followed at once by an event that asks for it."""
    missed: int = 0
    stale: int = 0
    gap: float = 0.0
    """The longest time for which a reader saw nothing of a partition of events that was written to."""
    memory: dict[str, tuple[int, int]] = dataclasses.field(default_factory=dict[str, tuple[int, int]])
    """Of processes that nobody ended: bytes when they had warmed up, and in the end."""
    stops: dict[str, int] = dataclasses.field(default_factory=dict[str, int])
    """The last words of processes that should have gone on."""
    trouble: str = ""
    """Why the run could not be brought to its end."""
    kafka_lost: str = ""
    """Its last words, if Kafka could not read its own log of groups and offsets, and served no group any more."""
    verdict: str = ""
    logs: str = ""
    """Where they were kept."""

    @classmethod
    def of(cls, trial: Trial) -> "Result":
        return cls(**dataclasses.asdict(trial))

    @property
    def findings(self) -> list[str]:
        """Without its groups Kafka gives nobody any work: then only what was done, and done wrong, is one."""
        wrong = ["duplicated", "reordered", "uncalled", "misnamed", "retold", "stale"]
        if not self.kafka_lost:
            wrong += ["lost", "missed"]
        found = [f"{getattr(self, name)} {name}" for name in wrong if getattr(self, name)]
        found += [f"{count} stopped: {words}" for words, count in self.stops.items()]
        if self.mode == ROLLING and self.gap > GAP_SECONDS_MAX:
            found.append(f"a gap of {self.gap:.1f} s")
        found += [f"{slot} grew by {self.growth(slot):.1%}" for slot in self.memory if self.growth(slot) > GROWTH_MAX]
        return [*found, self.trouble] if self.trouble and not self.kafka_lost else found

    def growth(self, slot: str) -> float:
        """Of its memory, as a share."""
        warm, last = self.memory[slot]
        return last / warm - 1

    @property
    def missing(self) -> list[str]:
        return [f"no {name.replace('_', ' ')}" for name in _WANTED[self.mode] if not getattr(self, name)]

    def judge(self) -> None:
        if self.findings:
            self.verdict = "; ".join(self.findings)
        elif self.kafka_lost:
            self.verdict = "does not count: Kafka could not read its own log of groups"
        elif self.missing:
            self.verdict = f"does not count: {', '.join(self.missing)}"
        else:
            self.verdict = CLEAN


def read(file: Path) -> list[Result]:
    if not file.exists():
        return []
    known = {field.name for field in dataclasses.fields(Result)}
    lines: list[dict[str, Any]] = [json.loads(line) for line in file.read_text().splitlines() if line]
    return [Result(**{name: value for name, value in line.items() if name in known}) for line in lines]


def append(file: Path, result: Result) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("a") as out:
        out.write(json.dumps(dataclasses.asdict(result)) + "\n")


def has(results: Iterable[Result], trial: Trial) -> bool:
    """Whether this was tried already."""
    wanted = dataclasses.asdict(trial)
    return any(all(getattr(result, name) == value for name, value in wanted.items()) for result in results)


_COLUMNS = {
    "mode": "mode",
    "seed": "seed",
    "seconds": "seconds",
    "Kafkas": "kafka_brokers",
    "events/s": "rate",
    "events": "events",
    "kills": "kills",
    "inside": "kills_inside",
    "pauses": "pauses",
    "aborts": "aborts",
    "rebalances": "rebalances",
    "restarts": "restarts",
    "snapshots": "restored",
    "expected": "expected",
    "delivered": "delivered",
    "undelivered": "undelivered",
    "pairs": "pairs",
    "gap, s": "gap",
    "verdict": "verdict",
}


def table(results: Sequence[Result]) -> str:
    """In Markdown."""
    rows = [list(_COLUMNS), ["---"] * len(_COLUMNS)]
    rows += [[_told(getattr(result, name)) for name in _COLUMNS.values()] for result in results]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _told(value: object) -> str:
    if isinstance(value, float):
        return f"{value:,.1f}".removesuffix(".0")
    return f"{value:,}" if isinstance(value, int) else str(value)

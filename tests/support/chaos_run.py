"""One run: a Tamis at work under load, what is done to it, and what came of it."""

import contextlib
import json
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from types import TracebackType
from typing import Self

from broker_cluster import Cluster, Reader, Seen
from broker_process import Manner
from chaos_director import KAFKA_KINDS, PROCESS_KINDS, REDIS_KINDS, TOPIC_KINDS, Director
from chaos_kafka import lost_groups
from chaos_load import Load, cast_of
from chaos_log import write_log
from chaos_network import NETWORK_KINDS
from chaos_points import ABORTED, FROZEN, KILLED, OPEN, POINTS, Faults
from chaos_results import CHAOS, ROLLING, SOAK, Result, Trial
from kafka_proxy import KafkaProxy
from oracle import Findings, examine
from tamis.admin.local import LocalStack
from tamis.broker.configuration import BrokerSettings, SnapshotSettings
from tamis.codecs.notification import Notification
from toxiproxy import Toxiproxy
from whereabouts import whereabouts

FAULTS = Faults(abort_every=50, seconds=30.0)
SOAK_FAULTS = Faults(abort_every=50)
_MANNER = Manner(FAULTS)
KINDS = {
    CHAOS: (*PROCESS_KINDS, *KAFKA_KINDS, *REDIS_KINDS, *TOPIC_KINDS),
    SOAK: ("killed", "frozen", *KAFKA_KINDS, *REDIS_KINDS, *TOPIC_KINDS),
}
DRAIN_SECONDS = 180.0
_EVERY_SECONDS = {CHAOS: 6.0, SOAK: 20.0}
"""On average, between two disturbances: there must be times of work between those of recovery."""
_OPEN_SECONDS = 2.0
_READY_SECONDS = 60.0
_LOOK_SECONDS = 1.0
_TELL_SECONDS = 10.0
_WARM = 1 / 4
"""The share of a soak after which memory should be what it will be, and the share that each mean is taken of."""
_SNAPSHOTS = SnapshotSettings(every_seconds=5, after_changes=20)
"""So that most starts are from one."""
_BYTES_A_RATE = 50
"""Of a transaction's events, for each that comes in a second: some half a second's."""
_POLL_INTERVAL_MS = 15_000
"""Kafka's `max.poll.interval.ms` in every other run: shorter than the longest freeze."""

Tell = Callable[[str], None]


class Run:
    """From the topics on to the last notification; the processes end with the block."""

    def __init__(
        self,
        stack: LocalStack,
        trial: Trial,
        folder: Path,
        manner: Manner = _MANNER,
        proxy: KafkaProxy | Toxiproxy | None = None,
    ) -> None:
        """All clients reach a Kafka or a Redis that has a proxy through it."""
        self.trial = trial
        extra = {"max.poll.interval.ms": str(_POLL_INTERVAL_MS)} if trial.seed % 2 == 0 else {}
        kafka = stack.settings.kafka.model_copy(update={"extra": stack.settings.kafka.extra | extra})
        sections = {"broker": bounds(trial.rate), "kafka": kafka, "snapshots": _SNAPSHOTS}
        settings = stack.settings.model_copy(update=sections)
        self.cluster = Cluster(settings, f"{trial.mode}-{trial.seed}{manner.broken}", folder, trial.shards)
        self.casts = cast_of(self.cluster.layout)
        self.subscribers = [name for cast in self.casts for name in cast.everyone]
        topics = [self.cluster.names.notifications(name) for name in self.subscribers]
        self.reader = Reader(self.cluster.settings, topics)
        self.load = Load(self.cluster, self.casts, trial.rate, trial.seed, self.reader.keys)
        manner = replace(manner, seed=str(trial.seed))
        self.director = Director(self.cluster, random.Random(trial.seed), manner, stack, proxy, topics)
        self._memory: dict[str, list[tuple[float, int]]] = {}
        self._blocks = contextlib.ExitStack()

    def __enter__(self) -> Self:
        with contextlib.ExitStack() as blocks:
            blocks.callback(self.director.end)
            self.cluster.make_notification_topics(self.subscribers)
            blocks.enter_context(self.reader)
            self._blocks = blocks.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._blocks.__exit__(kind, error, trace)

    def start(self, *, on_a_whole_log: bool = False) -> None:
        """Processes, on a log of subscriptions that has been through a lot, unless it is whole; and the load."""
        processes = [len(range(shard, self.trial.processes, self.trial.shards)) for shard in range(self.trial.shards)]
        if on_a_whole_log:
            self.cluster.subscribe(*self.load.standing())
            self.director.start(processes)
        else:
            stranger = write_log(self.cluster, self.subscribers, self.load.standing())
            self.director.start(processes)
            self.director.run(_OPEN_SECONDS)
            stranger.abort_transaction(_READY_SECONDS)
        self._blocks.enter_context(self.load)
        assert self.director.run(_READY_SECONDS, lambda: not self.reader.seen), "no broker begins its work"

    def go_on(self, seconds: float, *, tell: Tell | None = None, kinds: Sequence[str] = ()) -> None:
        """For so long, with something done now and then."""
        chance = self.director.chance
        began = told = time.monotonic()
        pace = 1 / _EVERY_SECONDS.get(self.trial.mode, _EVERY_SECONDS[CHAOS])
        due = began + chance.expovariate(pace)

        def goes_on() -> bool:
            nonlocal due, told
            now = time.monotonic()
            self.require_alive()
            if kinds and now > due:
                self.director.disturb(kinds)
                due = now + chance.expovariate(pace)
            if tell is not None and now > told + _TELL_SECONDS:
                told = now
                self._weigh(now - began)
                tell(f"{now - began:.0f} of {seconds:g} s, {self.progress()}")
            return now < began + seconds

        self.director.run(seconds + _READY_SECONDS, goes_on)

    def go_on_until(self, is_enough: Callable[[], bool], patience: float, kinds: Sequence[str] = ()) -> bool:
        """Whether it is enough in time."""
        end = time.monotonic() + patience
        while not is_enough():
            if time.monotonic() > end:
                return False
            self.go_on(_LOOK_SECONDS, kinds=kinds)
        return True

    def roll(self, rounds: int, tell: Tell | None = None) -> int:
        """Restart every process in turn, each when the one before is at work again; how many were."""
        restarts = 0
        for number in range(rounds):
            for slot in list(self.director.places):
                before = self._assignments(slot)
                self.director.terminate(slot)
                self.director.run(_READY_SECONDS, lambda slot=slot, before=before: self._assignments(slot) == before)  # type: ignore[misc]
                self.director.run(1.0)
                self.require_alive()
                restarts += 1
            if tell is not None:
                tell(f"{number + 1} of {rounds} rounds, {self.progress()}")
        return restarts

    def finish(self, result: Result, seconds: float = DRAIN_SECONDS) -> Findings:
        """Let everything come to its end, and say what came of it."""
        self.load.stop()
        self.director.calm()
        shards = range(self.trial.shards)
        looked_at = 0.0

        def is_left() -> bool:
            nonlocal looked_at
            if time.monotonic() < looked_at + _LOOK_SECONDS:
                return True
            left = not all(self.cluster.has_committed_all(shard, _LOOK_SECONDS) for shard in shards)
            looked_at = time.monotonic()
            return left

        seen = -1
        while not self.director.run(seconds, is_left):
            if len(self.reader.seen) == seen:
                result.trouble = f"not all events were matched, and nothing came for {seconds:g} s"
                self.director.ask_where()
                self.director.end()  # else what is examined changes under our eyes
                break
            seen = len(self.reader.seen)
        self.reader.wait_until_done()
        findings = examine(self.cluster, self.reader.seen)
        self._fill(result, findings)
        wrong = {name: getattr(findings, name) for name in ("lost", "doubled", "disordered", "uncalled", "misnamed")}
        wrong["whereabouts"] = whereabouts(self.cluster, findings.lost)
        (self.cluster.folder / "findings.json").write_text(json.dumps({"load": repr(self.load.failure), **wrong}))
        return findings

    def require_alive(self) -> None:
        self.load.require_alive()
        self.reader.require_alive()

    def progress(self) -> str:
        done = ", ".join(f"{count} {kind}" for kind, count in sorted(self.director.counts.items()) if count)
        return f"{self.load.sent:,} events, {len(self.reader.seen):,} notifications; {done or 'nothing done'}"

    def _weigh(self, seconds: float) -> None:
        for slot in self.director.spared & self.cluster.processes.keys():
            memory = memory_of(self.cluster.processes[slot].pid)
            self._memory.setdefault(slot, []).append((seconds, memory))

    def _assignments(self, slot: str) -> int:
        return self.cluster.told('"event": "assigned ', f"{slot}*.log")

    def _fill(self, result: Result, findings: Findings) -> None:
        director, told = self.director, self.cluster.told
        result.points = {
            words: count for what in (KILLED, FROZEN) for at in POINTS if (count := told(words := f"{what} {at}"))
        }
        result.memory = {slot: weighed(found, self.trial.seconds) for slot, found in self._memory.items()}
        result.done = dict(director.counts)
        result.stops = dict(director.stops)
        result.kills = told(KILLED) + director.counts["killed"] + director.counts["killed at start"]
        result.kills_inside = sum(told(f"{KILLED} {at}") for at in OPEN)
        result.pauses = told(FROZEN) + director.counts["frozen"]
        result.aborts = told(ABORTED)
        result.rebalances = told('"event": "revoked ') + told('"event": "lost ')
        result.restored = told("subscriptions from snapshot ")
        result.events = findings.events
        for name in ("expected", "delivered", "undelivered", "retold", "views", "splits"):
            setattr(result, name, getattr(findings, name))
        result.lost, result.duplicated = len(findings.lost), len(findings.doubled)
        result.reordered, result.uncalled = len(findings.disordered), len(findings.uncalled)
        result.misnamed = len(findings.misnamed)
        result.pairs = len(self.load.gone)
        result.missed = sum(name not in findings.ids for name in self.load.come)
        result.stale = sum(name in findings.ids for name in self.load.gone)
        result.gap = round(largest_gap(self.reader.seen, {cast.beacon for cast in self.casts}), 3)


def bounds(rate: float) -> BrokerSettings:
    """That are met, so that messages are held back when partitions go, and some events take several transactions.

    Yet a transaction may be a tenth of a second in coming to its end, and what waits after a fault must come down.
    """
    return BrokerSettings(
        batch_notifications=max(200, round(rate / 2)),
        batch_bytes=max(20_000, round(rate * _BYTES_A_RATE)),
        batch_topics=6,
    )


def largest_gap(seen: Sequence[Seen], beacons: set[str]) -> float:
    """The longest time for which one of these had nothing of a partition."""
    last: dict[tuple[str, int], float] = {}
    gap = 0.0
    for each in seen:
        if each.subscriber in beacons:
            place = each.subscriber, Notification.decode(each.value).partition
            gap = max(gap, each.at - last.get(place, each.at))
            last[place] = each.at
    return gap


def memory_of(pid: int) -> int:
    """Bytes that are its own, and not files'."""
    status = Path(f"/proc/{pid}/status").read_text()
    return next(int(line.split()[1]) << 10 for line in status.splitlines() if line.startswith("RssAnon:"))


def weighed(found: Sequence[tuple[float, int]], seconds: float) -> tuple[int, int]:
    """The mean of the time after it had warmed up, and of the last so long, of bytes at some seconds."""
    span = seconds * _WARM
    warm = [memory for at, memory in found if span <= at < 2 * span]
    last = [memory for at, memory in found if at >= seconds - span]
    return round(fmean(warm)), round(fmean(last))


def tried(stack: LocalStack, trial: Trial, folder: Path, tell: Tell, proxy: KafkaProxy | None = None) -> Result:
    """The whole of one trial."""
    result = Result.of(trial)
    began = time.monotonic()
    is_rolling = trial.mode == ROLLING
    faults = {CHAOS: FAULTS, SOAK: SOAK_FAULTS, ROLLING: Faults()}[trial.mode]
    with Run(stack, trial, folder, Manner(faults), proxy) as run:
        if trial.mode == SOAK:
            run.director.spare(range(trial.shards))
        run.start(on_a_whole_log=is_rolling)
        if is_rolling:
            result.restarts = run.roll(trial.rounds, tell)
        else:
            kinds = KINDS[trial.mode] if proxy is None else (*KINDS[trial.mode], *NETWORK_KINDS)
            run.go_on(trial.seconds, tell=tell, kinds=kinds)
        tell(f"waiting for the rest, {run.progress()}")
        run.finish(result)
        result.kafka_lost = lost_groups(stack)
    result.took = round(time.monotonic() - began, 1)
    result.judge()
    return result

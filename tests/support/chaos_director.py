"""What is done to broker processes while they work: who is killed, frozen, replaced, restarted, and when.

Nothing here waits: what takes time is looked at with every tick, so that several things go wrong at once. Whatever ends
is started again, also when the faults are over, until somebody ends it all.
"""

import heapq
import itertools
import os
import random
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from broker_cluster import Cluster
from broker_process import Manner
from chaos_kafka import KafkaFaults
from chaos_network import NetworkFaults
from chaos_redis import RedisFaults
from chaos_topics import TopicFaults
from chaos_toxics import ToxicFaults
from kafka_proxy import KafkaProxy
from tamis.admin.local import LocalStack
from toxiproxy import Toxiproxy

TICK_SECONDS = 0.05
SESSION_SECONDS = 6.0
"""Of the local stack's groups: who is silent for longer has lost its partitions."""
_FREEZES = (*(0.2, 0.2, 0.2, 1.2, 1.2, 1.2), *(1.2 * SESSION_SECONDS, 1.2 * SESSION_SECONDS, 3 * SESSION_SECONDS))
"""Seconds, each as often as it is named: within an open transaction, others' notifications wait for as long."""
_AGAIN_SECONDS = 0.5
_TWIN_SECONDS = 30.0
_ROLLING_SECONDS = 2.0
_STILLBORN_MAX = 3
_STARTING_SECONDS = (0.3, 2.5)
"""Within these a process imports what it needs, reads a snapshot and the log, and becomes a member of its group."""
_SCALED_TO = (1, 3)
_SCALED_SECONDS = 5.0
_TAIL_BYTES = 20_000
_REPLACED = "ConflictError"
_SLOT = "slot"
"""A conflict about it is told by who lost it."""
_WAITED_FOR = "UnreachableError"
"""What a process may end with that starts while Kafka is away."""

PROCESS_KINDS = ("killed", "killed", "killed at start", "frozen", "frozen", "rolled", "scaled", "twinned")
KAFKA_KINDS = ("kafka killed", "kafka restarted", "kafka paused")
REDIS_KINDS = ("redis emptied", "redis silent", "redis damaged")
TOPIC_KINDS = ("topic narrowed",)
"""What may be done, each as often as it is named: keys of `Director.kinds`."""


@dataclass
class Place:
    """One slot, whoever is in it just now."""

    slot: str
    shard: int
    is_wanted: bool = True
    """Whether who ended is followed by another one."""
    host: str = ""
    begun: int = 0
    began_at: float = 0.0
    start_at: float = 0.0
    stillborn: int = 0
    """How many of the next ones are killed before they are at work."""
    thaw_at: float | None = None
    twin: subprocess.Popen[bytes] | None = None
    """A second process of the same slot, as if on another machine."""
    twin_host: str = ""
    twin_until: float = 0.0


@dataclass
class Director:
    cluster: Cluster
    chance: random.Random
    manner: Manner = field(default_factory=Manner)
    """Of the processes; each has a seed of its own, made of this one."""
    stack: LocalStack | None = None
    """Whose Kafka brokers and Redis may be touched."""
    proxy: KafkaProxy | Toxiproxy | None = None
    """Between processes and Kafka, or between everybody and both servers, if there is one."""
    topics: Sequence[str] = ()
    """Of subscribers."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """What was done, by kind."""
    stops: Counter[str] = field(default_factory=Counter[str])
    """The last words of processes that ended by themselves, though they should not."""

    def __post_init__(self) -> None:
        self.places: dict[str, Place] = {}
        self._base: Sequence[int] = ()
        self._later: list[tuple[float, int, Callable[[], None]]] = []
        self._turns = itertools.count()
        self._rolling: list[str] = []
        self._scaled: set[int] = set()
        self.spared: set[str] = set()
        """Slots."""
        self.kinds: dict[str, Callable[[], bool]] = {
            "killed": self._kill,
            "killed at start": self._kill_at_start,
            "frozen": self._freeze,
            "rolled": self._roll,
            "scaled": self._scale,
            "twinned": self._start_twin,
        }
        """Each does it, or says that it cannot be done just now."""
        self._kafka: KafkaFaults | None = None
        if self.stack is not None:
            self._kafka = KafkaFaults(self.stack, self.cluster.names.events, self.chance, self.later)
            self.kinds |= {
                "kafka killed": self._kafka.kill,
                "kafka restarted": self._kafka.restart,
                "kafka paused": self._kafka.pause,
            }
            redis = RedisFaults(self.stack.settings.redis, self.chance)
            self.kinds |= {
                "redis emptied": redis.empty,
                "redis silent": redis.silence,
                "redis damaged": redis.damage,
            }
        if self.topics:
            topics = TopicFaults(self.cluster.settings.kafka, self.topics, self.chance, self.later)
            self.kinds["topic narrowed"] = topics.narrow
        match self.proxy:
            case KafkaProxy():
                self.kinds |= NetworkFaults(self.proxy, self.chance, self.later).kinds
            case Toxiproxy():
                self.kinds |= ToxicFaults(self.proxy, self.chance, self.later).kinds
            case None:
                pass

    def start(self, processes: Sequence[int]) -> None:
        """So many of each shard."""
        self._base = processes
        for shard, count in enumerate(processes):
            self._scale_to(shard, count)
        self.tick()

    def spare(self, shards: Iterable[int]) -> None:
        """The first process of each of these shards is never killed: it shows what long work does to one."""
        self.spared = {f"{shard}-0" for shard in shards}

    def disturb(self, kinds: Sequence[str]) -> None:
        """Do one of these."""
        kind = self.chance.choice(kinds)
        self.counts[kind] += self.kinds[kind]()

    def tick(self) -> None:
        """Do what is due, and start what has ended."""
        now = time.monotonic()
        while self._later and self._later[0][0] <= now:
            heapq.heappop(self._later)[2]()
        for place in self.places.values():
            self._watch(place, now)
        self._roll_on(now)
        if self._kafka is not None:
            self._kafka.require_running()

    def run(self, seconds: float, goes_on: Callable[[], bool] = lambda: True) -> bool:
        """Only tick, for so long or as long as that is true; whether it ended in time."""
        end = time.monotonic() + seconds
        while goes_on():
            if time.monotonic() > end:
                return False
            self.tick()
            time.sleep(TICK_SECONDS)
        return True

    def later(self, seconds: float, action: Callable[[], None]) -> None:
        heapq.heappush(self._later, (time.monotonic() + seconds, next(self._turns), action))

    def calm(self) -> None:
        """No more faults: everything goes on, and what ended comes back."""
        self.cluster.calm.touch()
        pending, self._later = sorted(self._later, key=lambda each: each[:2]), []
        for _, _, action in pending:
            action()
        self._rolling.clear()
        for shard, count in enumerate(self._base):
            self._scale_to(shard, count)
        for place in self.places.values():
            place.stillborn = 0
            place.start_at = place.twin_until = 0.0
            if place.thaw_at is not None:
                place.thaw_at = 0.0
        self.tick()

    def ask_where(self) -> None:
        """Each process writes to its log where it is just now: for one that hangs."""
        for running in self.cluster.processes.values():
            running.send_signal(signal.SIGUSR1)
        self.run(_AGAIN_SECONDS)

    def end(self) -> None:
        """All processes, for good."""
        for place in self.places.values():
            if place.twin is not None:
                place.twin.kill()
                place.twin.wait()
        self.cluster.end_processes()

    def terminate(self, slot: str) -> None:
        """In order, as an operator would; it is started again at once."""
        self.places[slot].start_at = 0.0
        self.cluster.processes[slot].terminate()

    # What runs.

    def _watch(self, place: Place, now: float) -> None:
        running = self.cluster.processes.get(place.slot)
        if running is not None and running.poll() is not None:
            self._note(place.slot, place.host, running)
            del self.cluster.processes[place.slot]
            running, place.thaw_at = None, None
        if running is None:
            if place.twin is not None:
                self.cluster.processes[place.slot], place.host = place.twin, place.twin_host
                place.twin = None
            elif place.is_wanted and now >= place.start_at:
                self._begin(place, now)
            return
        if place.twin is not None:
            self._watch_twin(place, place.twin, now)
        if place.thaw_at is None and _is_stopped(running):  # by itself, within a transaction
            place.thaw_at = now + self.chance.choice(_FREEZES)
        if place.thaw_at is not None and now >= place.thaw_at:
            running.send_signal(signal.SIGCONT)
            place.thaw_at = None

    def _watch_twin(self, place: Place, twin: subprocess.Popen[bytes], now: float) -> None:
        if twin.poll() is not None:
            self._note(place.slot, place.twin_host, twin)
            place.twin = None
        elif now > place.twin_until:  # one of them has nothing to do, so Kafka has nothing to tell it
            twin.kill()
        elif _is_stopped(twin):
            twin.send_signal(signal.SIGCONT)

    def _begin(self, place: Place, now: float) -> None:
        place.host, place.began_at, place.start_at = "", now, now + _AGAIN_SECONDS
        self.cluster.start(place.slot, place.shard, self._next_manner(place))
        if place.stillborn:
            place.stillborn -= 1
            self.later(self.chance.uniform(*_STARTING_SECONDS), self.cluster.processes[place.slot].kill)

    def _next_manner(self, place: Place) -> Manner:
        place.begun += 1
        return replace(self.manner, seed=f"{self.manner.seed}/{place.slot}/{place.begun}")

    def _note(self, slot: str, host: str, ended: subprocess.Popen[bytes]) -> None:
        """Why it ended, if nobody made it."""
        if ended.returncode in (0, -signal.SIGKILL, -signal.SIGTERM):
            return
        said = [line for line in _tail(self.cluster.log(slot, host)) if line.startswith("Error: ")]
        words = said[-1].removeprefix("Error: ") if said else f"exit code {ended.returncode}, and no last words"
        if words.startswith(_REPLACED) and _SLOT in words:
            self.counts["replaced"] += 1
        elif words.startswith(_WAITED_FOR):
            self.counts["unreachable"] += 1
        else:
            self.stops[words] += 1

    # What goes wrong.

    def _kill(self) -> bool:
        place = self._one_at_work(self.spared)
        if place is None:
            return False
        self.cluster.processes[place.slot].kill()
        pause = self.chance.choice((0.0, self.chance.uniform(0.0, 1.2 * SESSION_SECONDS)))
        place.start_at = time.monotonic() + pause
        return True

    def _kill_at_start(self) -> bool:
        """And those that follow, too, before they know all subscriptions, or have told anybody that they are there."""
        place = self._one_at_work(self.spared)
        if place is None:
            return False
        self.cluster.processes[place.slot].kill()
        place.start_at, place.stillborn = 0.0, self.chance.randint(1, _STILLBORN_MAX)
        return True

    def _freeze(self) -> bool:
        place = self._one_at_work()
        if place is None:
            return False
        self.cluster.processes[place.slot].send_signal(signal.SIGSTOP)
        place.thaw_at = time.monotonic() + self.chance.choice(_FREEZES)
        return True

    def _roll(self) -> bool:
        """Restart all of them, one after the other."""
        if self._rolling:
            return False
        self._rolling = [place.slot for place in self.places.values() if place.is_wanted]
        return True

    def _roll_on(self, now: float) -> None:
        """The next one is told when the one before has been back for a while."""
        if not self._rolling:
            return
        place = self.places[self._rolling[0]]
        if not place.is_wanted:
            self._rolling.pop(0)
        elif self._is_at_work(place) and now > place.began_at + _ROLLING_SECONDS:
            self._rolling.pop(0)
            self.terminate(place.slot)

    def _scale(self) -> bool:
        """One shard's processes: to one, to three, and back to what they were."""
        shard = self.chance.randrange(len(self._base))
        if shard in self._scaled:
            return False
        self._scaled.add(shard)
        seconds = 0.0
        for count in (*_SCALED_TO, self._base[shard]):
            self.later(seconds, lambda count=count: self._scale_to(shard, count))  # type: ignore[misc]
            seconds += self.chance.uniform(0.5, 1.5) * _SCALED_SECONDS
        self.later(seconds, lambda: self._scaled.discard(shard))
        return True

    def _scale_to(self, shard: int, count: int) -> None:
        for number in range(max(count, *_SCALED_TO)):
            slot = f"{shard}-{number}"
            if number < count:
                self.places.setdefault(slot, Place(slot, shard)).is_wanted = True
            elif slot in self.places:
                self.places[slot].is_wanted = False
                running = self.cluster.processes.get(slot)
                if running is not None:
                    running.terminate()

    def _start_twin(self) -> bool:
        """The newer one is to stay, and the older one to say why it goes."""
        place = self._one_at_work()
        if place is None:
            return False
        manner = self._next_manner(place)
        place.twin_host = f"host-{place.begun}"
        place.twin_until = time.monotonic() + _TWIN_SECONDS
        place.twin = self.cluster.started(place.slot, place.shard, manner, place.twin_host)
        return True

    def _one_at_work(self, spared: Container[str] = ()) -> Place | None:
        """That nothing is being done to."""
        found = [place for place in self.places.values() if self._is_at_work(place) and place.slot not in spared]
        return self.chance.choice(found) if found else None

    def _is_at_work(self, place: Place) -> bool:
        return place.slot in self.cluster.processes and place.thaw_at is None and place.twin is None


def _is_stopped(process: subprocess.Popen[bytes]) -> bool:
    try:
        return os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WNOHANG | os.WNOWAIT) is not None
    except ChildProcessError:
        return False


def _tail(log: Path) -> list[str]:
    with log.open("rb") as file:
        file.seek(max(0, log.stat().st_size - _TAIL_BYTES))
        return file.read().decode(errors="replace").splitlines()

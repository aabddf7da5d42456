"""The notification topics that this process writes to, and which of them cannot be written to just now.

A topic that cannot take a notification would fail the transaction that it is in, and all others after it. So each topic
is known to exist before a transaction touches it; what fails all the same is looked into, and its subscriber is
suspended: the notifications go to `tamis.undelivered` until a look at the topic says that it can be written to.
"""

import logging
import time
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import dataclass

from tamis.broker.configuration import Settings
from tamis.broker.errors import MissingError
from tamis.broker.kafka import (
    REFUSED,
    TIMED_OUT,
    TOO_LARGE,
    UNKNOWN_PARTITION,
    KafkaError,
    KafkaException,
    admin_client,
)
from tamis.broker.notification_topics import create_notification_topics, is_there_already
from tamis.broker.obstacles import bytes_max, obstacles
from tamis.broker.partitions import outlet_partition
from tamis.broker.transactions import RebuildError, is_forbidden, refuse
from tamis.codecs.undelivered import Obstacle

_SECONDS = 10.0
_MAKE_SECONDS = 3.0
"""For a topic that is made beside other work."""
_LOOK_SECONDS = (2.0, 60.0)
"""After how long a topic is looked at again: the first time, and at most."""
_VANISHED_SECONDS = 60.0
_BETWEEN_LOOKS_SECONDS = 1.0
"""So that many are looked at together, whenever each of them is due."""
_TIMED_OUT_MAX = 2
"""So often in a row an impaired topic may take nothing in time before it is to blame, and not a leader's election."""
_UNTOLD_BYTES = 2 << 20
"""Twice what a topic takes by Kafka's default: where to begin if it may not be asked."""
_UNTOLD_BYTES_MAX = 64 << 20
"""More than a client sends."""
_BOUND_SECONDS = 60.0
"""For so long it is believed how much a topic takes: somebody may have it take more."""
_LOG = logging.getLogger(__name__)


@dataclass(slots=True)
class Suspension:
    """Why a subscriber's notifications do not go to its topic, and when that is looked at again."""

    obstacle: Obstacle
    detail: str
    pause: float
    look_at: float
    never_there: bool = False
    """Then a look tries to make the topic."""


@dataclass(slots=True)
class _Bound:
    """Of what a topic takes at once."""

    told: int | None
    """By Kafka; what was found out may be less."""
    ask_at: float


@dataclass(slots=True)
class Outlet:
    """One subscriber's topic."""

    subscriber: str
    topic: str
    partitions: int
    bytes_max: int | None = None
    """Of a batch of records, and so of one; known once something was too large."""
    suspension: Suspension | None = None

    def partition(self, source: str, number: int) -> int:
        """Where the notifications of a partition's events go."""
        return outlet_partition(source, number, self.partitions)


class Outlets:
    """Outlives the clients of a membership: what was learnt about topics cost failed transactions."""

    def __init__(self, settings: Settings, vanished: Callable[[], Container[str]]) -> None:
        """`vanished` tells whose topics were there once, by what other processes wrote."""
        names = settings.names
        self._settings = settings
        self._vanished = vanished
        self._vanished_known: Container[str] = ()
        self._vanished_until = 0.0
        self._admin = admin_client(settings.kafka)
        self._own = (names.views, names.rejected, names.undelivered)
        self._outlets: dict[str, Outlet] = {}
        self._pauses: dict[str, float] = {}
        """Of those that were suspended and have taken nothing since."""
        self._timed_out: dict[str, int] = {}
        """How often in a row, by subscriber."""
        self._suspended: dict[str, Outlet] = {}
        self._bounds: dict[str, _Bound] = {}
        """Of those to which something was too large, by subscriber."""
        self._look_at = 0.0

    @property
    def suspended(self) -> Mapping[str, Outlet]:
        """By subscriber."""
        return self._suspended

    def prepare(self, subscribers: Iterable[str]) -> list[Outlet]:
        """Their outlets. Topics that were never there are made."""
        wanted = list(subscribers)
        unknown = [subscriber for subscriber in wanted if subscriber not in self._outlets]
        if unknown:
            self._learn()
            missing = [subscriber for subscriber in unknown if subscriber not in self._outlets]
            if missing:
                self._make(missing)
        return [self._outlets[subscriber] for subscriber in wanted]

    def took(self, outlets: Iterable[Outlet]) -> None:
        """What was sent to these was committed."""
        for outlet in outlets:
            if outlet.suspension is None:
                self._pauses.pop(outlet.subscriber, None)
                self._timed_out.pop(outlet.subscriber, None)

    def blame(self, outlets: Iterable[Outlet], failures: Mapping[str, KafkaError]) -> bool:
        """Find out which of these failed a transaction. False if none did, so it can be tried again as it was.

        MissingError if it is one of Tamis's own topics.
        """
        touched = {outlet.topic: outlet for outlet in outlets if outlet.suspension is None}
        try:
            found = obstacles(self._admin, [*touched, *self._own])
        except KafkaException as error:
            _LOG.warning("what stands against writing cannot be learnt: %s", error.args[0].str())
            return False
        blamed = False
        for topic, obstacle in found.items():
            if obstacle is Obstacle.UNAVAILABLE:
                continue
            if topic not in touched:
                raise MissingError(
                    f"{topic} cannot be written to ({obstacle}). tamis topics check says what is wrong with it."
                )
            self._suspend(touched[topic], obstacle, "")
            blamed = True
        for topic, failure in failures.items():
            if topic in touched and touched[topic].suspension is None:
                is_impaired = found.get(topic) is Obstacle.UNAVAILABLE
                blamed = self._is_to_blame(touched[topic], failure, is_impaired=is_impaired) or blamed
        return self._is_relearnt(touched, failures) or blamed

    def _is_relearnt(self, touched: Mapping[str, Outlet], failures: Mapping[str, KafkaError]) -> bool:
        """Whether topics were made anew with fewer partitions: what goes to others of theirs fails, or waits in vain.

        Where the client says so, and there are as many as were known, it knew fewer, and its successor will not.
        """
        try:
            partitions = self._partitions()
        except KafkaException as error:
            _LOG.warning("how many partitions topics have cannot be learnt: %s", error.args[0].str())
            return False
        is_relearnt = False
        for topic, outlet in touched.items():
            told = partitions.get(outlet.subscriber, 0)
            is_unknown = topic in failures and failures[topic].code() in UNKNOWN_PARTITION
            if outlet.suspension is None and told > 0 and (told < outlet.partitions or is_unknown):
                outlet.partitions, is_relearnt = told, True
                _LOG.warning("%s has %d partitions", topic, told)
        return is_relearnt

    def _is_to_blame(self, outlet: Outlet, error: KafkaError, *, is_impaired: bool) -> bool:
        """For what Kafka said of a record for it, though it is there and may be written to.

        That a sound topic took nothing in time says that Kafka is slow just now, and nothing of the topic.
        """
        if error.code() in TOO_LARGE:
            self._narrow(outlet)
        elif error.code() in REFUSED:
            self._suspend(outlet, Obstacle.REFUSED, error.str())
        elif error.code() in TIMED_OUT and is_impaired:
            times = self._timed_out[outlet.subscriber] = self._timed_out.get(outlet.subscriber, 0) + 1
            if times < _TIMED_OUT_MAX:
                return False
            self._suspend(outlet, Obstacle.UNAVAILABLE, error.str())
        else:
            return False
        return True

    def look(self) -> None:
        """Now and then, whether suspended subscribers' topics can be written to again, and others take more."""
        now = time.monotonic()
        if now < self._look_at:
            return
        self._look_at = now + _BETWEEN_LOOKS_SECONDS
        self._widen(now)
        due = [outlet for outlet in self._suspended.values() if outlet.suspension and outlet.suspension.look_at <= now]
        if not due:
            return
        try:
            found = obstacles(self._admin, [outlet.topic for outlet in due])
            partitions = self._partitions()
        except KafkaException as error:
            _LOG.warning("suspended subscribers' topics cannot be looked at: %s", error.args[0].str())
            found, partitions = None, {}
        made = self._made_after_all(due, found or {})
        for outlet in due:
            suspension = outlet.suspension
            assert suspension is not None
            if outlet.subscriber in made:
                self._resume(outlet, self._settings.notifications.partitions)
            elif found is None or outlet.topic in found:
                suspension.pause = min(2 * suspension.pause, _LOOK_SECONDS[1])
                suspension.look_at = now + suspension.pause
                if found is not None and not suspension.never_there:
                    suspension.obstacle = found[outlet.topic]
            else:
                self._resume(outlet, partitions.get(outlet.subscriber, outlet.partitions))

    def _made_after_all(self, outlets: Iterable[Outlet], found: Mapping[str, Obstacle]) -> set[str]:
        """The subscribers whose topics were never there before, and are now."""
        wanted: dict[str, Suspension] = {}
        for outlet in outlets:
            suspension, obstacle = outlet.suspension, found.get(outlet.topic)
            if suspension is None or not suspension.never_there:
                continue
            if obstacle is Obstacle.MISSING:
                wanted[outlet.subscriber] = suspension
            elif obstacle is not None:
                suspension.never_there = False
        if not wanted:
            return set()
        try:
            answers = create_notification_topics(self._admin, self._settings, list(wanted), _MAKE_SECONDS)
        except KafkaException as error:
            _LOG.warning("topics of suspended subscribers cannot be made yet: %s", error.args[0].str())
            return set()
        for subscriber, refusal in answers.items():
            if refusal is not None and not is_there_already(refusal):
                wanted[subscriber].obstacle, wanted[subscriber].detail = _not_made(refusal)
        return {subscriber for subscriber, refusal in answers.items() if refusal is None}

    def _resume(self, outlet: Outlet, partitions: int) -> None:
        """It may be another topic of the same name."""
        outlet.suspension = None
        outlet.partitions = partitions
        outlet.bytes_max = None
        self._bounds.pop(outlet.subscriber, None)
        del self._suspended[outlet.subscriber]
        _LOG.warning("subscriber %s gets notifications again", outlet.subscriber)

    def _suspend(self, outlet: Outlet, obstacle: Obstacle, detail: str, *, never_there: bool = False) -> None:
        """One that was suspended before and has taken nothing since is looked at later than the last time."""
        first, most = _LOOK_SECONDS
        pause = min(2 * self._pauses.get(outlet.subscriber, first / 2), most)
        self._pauses[outlet.subscriber] = pause
        outlet.suspension = Suspension(obstacle, detail, pause, time.monotonic() + pause, never_there)
        self._suspended[outlet.subscriber] = outlet
        _LOG.error(
            "subscriber %s is suspended, its notifications go to %s: %s (%s)%s",
            outlet.subscriber,
            self._settings.names.undelivered,
            outlet.topic,
            obstacle,
            f", {detail}" if detail else "",
        )

    def _narrow(self, outlet: Outlet) -> None:
        """Something was too large for it. If it does not tell what would not be, half as much is tried each time."""
        told = bytes_max(self._admin, [outlet.topic]).get(outlet.topic)
        failed = outlet.bytes_max or (_UNTOLD_BYTES if told is None else told + 1)
        known = outlet.bytes_max = told if told is not None and told < failed else max(1, failed // 2)
        self._bounds[outlet.subscriber] = _Bound(told, time.monotonic() + _BOUND_SECONDS)
        _LOG.error(
            "%s takes no more than %d bytes at once: what is larger goes to %s",
            outlet.topic,
            known,
            self._settings.names.undelivered,
        )

    def _widen(self, now: float) -> None:
        """What Kafka tells otherwise than before counts. Where it tells nothing, twice as much is tried each time."""
        due = {name: self._outlets[name] for name, bound in self._bounds.items() if bound.ask_at <= now}
        if not due:
            return
        found = bytes_max(self._admin, [outlet.topic for outlet in due.values()])
        for subscriber, outlet in due.items():
            bound, told = self._bounds[subscriber], found.get(outlet.topic)
            bound.ask_at = now + _BOUND_SECONDS
            if told is not None and told != bound.told:
                outlet.bytes_max = bound.told = told
            elif told is None and bound.told is None and outlet.bytes_max is not None:
                outlet.bytes_max *= 2
                if outlet.bytes_max > _UNTOLD_BYTES_MAX:
                    outlet.bytes_max = None
                    del self._bounds[subscriber]

    def _learn(self) -> None:
        try:
            found = self._partitions()
        except KafkaException as error:
            refuse(error)
        for subscriber, partitions in found.items():
            if subscriber not in self._outlets:
                self._add(subscriber, partitions)

    def _add(self, subscriber: str, partitions: int) -> Outlet:
        outlet = Outlet(subscriber, self._settings.names.notifications(subscriber), partitions)
        self._outlets[subscriber] = outlet
        return outlet

    def _partitions(self) -> dict[str, int]:
        prefix = self._settings.names.notifications("")
        topics = self._admin.list_topics(timeout=_SECONDS).topics
        return {
            name.removeprefix(prefix): len(topic.partitions)
            for name, topic in topics.items()
            if name.startswith(prefix)
        }

    def _known_vanished(self) -> Container[str]:
        """Not asked for each topic anew, since that may be much to read."""
        if time.monotonic() > self._vanished_until:
            self._vanished_known = self._vanished()
            self._vanished_until = time.monotonic() + _VANISHED_SECONDS
        return self._vanished_known

    def _make(self, subscribers: list[str]) -> None:
        vanished = self._known_vanished()
        fresh = [subscriber for subscriber in subscribers if subscriber not in vanished]
        try:
            answers = create_notification_topics(self._admin, self._settings, fresh)
        except KafkaException as error:
            refuse(error)
        others = {name for name, refusal in answers.items() if refusal is not None and is_there_already(refusal)}
        if others:
            self._learn()
        for subscriber in subscribers:
            if subscriber in others:
                continue
            # What was made just now may not be in what a broker tells yet.
            outlet = self._add(subscriber, self._settings.notifications.partitions)
            refusal = answers.get(subscriber)
            if subscriber in vanished:
                self._suspend(outlet, Obstacle.MISSING, "it was deleted before")
            elif refusal is not None:
                self._suspend(outlet, *_not_made(refusal), never_there=True)
        if untold := others - self._outlets.keys():
            self._add_untold(untold)
        made = [subscriber for subscriber, refusal in answers.items() if refusal is None]
        if made:
            _LOG.info("made topics for %d subscribers, first %s", len(made), made[0])

    def _add_untold(self, subscribers: Iterable[str]) -> None:
        """Their topics are there, and who lists topics is not told of them: not yet, or since that is forbidden."""
        topics = {self._settings.names.notifications(subscriber): subscriber for subscriber in subscribers}
        try:
            found = obstacles(self._admin, topics)
        except KafkaException as error:
            refuse(error)
        for topic, subscriber in topics.items():
            if found.get(topic) is not Obstacle.FORBIDDEN:
                raise RebuildError(f"how many partitions {topic} has is not told yet")
            outlet = self._add(subscriber, self._settings.notifications.partitions)
            self._suspend(outlet, Obstacle.FORBIDDEN, "it is there, and nothing is told of it")


def _not_made(refusal: KafkaError) -> tuple[Obstacle, str]:
    obstacle = Obstacle.FORBIDDEN if is_forbidden(refusal) else Obstacle.NOT_MADE
    return obstacle, f"it could not be made: {refusal.str()}"

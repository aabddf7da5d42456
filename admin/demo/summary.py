"""What a demo comes to, for people and for programs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tamis.admin.demo.judge import Verdict


@dataclass(frozen=True, slots=True)
class Crash:
    """What the end of a broker came to."""

    seconds_away: float
    """From its death until a new one was started."""
    seconds_until_caught_up: float
    """From that start until it had matched all that waited."""
    events_waiting: int
    """How many events came while nobody matched any: at the moment of the start."""


@dataclass(frozen=True, slots=True)
class Burst:
    """Events at once; time runs from the first one sent until the last notification is read."""

    events: int
    notifications: int
    seconds: float

    @property
    def events_per_second(self) -> int:
        return round(self.events / self.seconds)

    @property
    def notifications_per_second(self) -> int:
        return round(self.notifications / self.seconds)


@dataclass(frozen=True, slots=True)
class Summary:
    """All of it."""

    offers: int
    """Events at a human pace, before the burst."""
    offers_per_second: float
    crash: Crash
    burst: Burst
    verdict: Verdict

    @property
    def row(self) -> Mapping[str, Any]:
        verdict, burst, crash = self.verdict, self.burst, self.crash
        return {
            "ok": verdict.is_clean,
            "events": verdict.events,
            "expected": verdict.expected,
            "delivered": verdict.delivered,
            "lost": verdict.lost,
            "duplicated": verdict.duplicated,
            "wrong": verdict.wrong,
            "disordered": verdict.disordered,
            "views": verdict.views,
            "offers": self.offers,
            "crash": {
                "seconds_away": round(crash.seconds_away, 3),
                "events_waiting": crash.events_waiting,
                "seconds_until_caught_up": round(crash.seconds_until_caught_up, 3),
            },
            "burst": {
                "events": burst.events,
                "notifications": burst.notifications,
                "seconds": round(burst.seconds, 3),
                "events_per_second": burst.events_per_second,
                "notifications_per_second": burst.notifications_per_second,
            },
        }

    @property
    def text(self) -> str:
        """Its last line is the verdict."""
        verdict, burst, crash = self.verdict, self.burst, self.crash
        lines = f"""\
Offers   {self.offers} at a human pace, {self.offers_per_second:g} a second.
Crash    The broker was killed, and away for {crash.seconds_away:.1f} s. {crash.events_waiting} offers waited in
         Kafka; {crash.seconds_until_caught_up:.1f} s after its start the next one had matched them all.
Burst    {burst.events:,} events and {burst.notifications:,} notifications in {burst.seconds:.1f} s, from the first one
         sent to the last one read: {burst.events_per_second:,} events/s, {burst.notifications_per_second:,}
         notifications/s. All of it shared {os.cpu_count()} processors: the publisher, Kafka,
         one broker process and the readers.
Check    Every event was evaluated again, alone, on each subscription that was in
         force when it was matched ({verdict.views} states of the subscriptions).""".splitlines()
        if verdict.wrong:
            lines.append(f"         {verdict.wrong} notifications were wrong: nobody was to get them, or not so.")
        if verdict.disordered:
            lines.append(f"         {verdict.disordered} came after a later event of the same partition.")
        return "\n".join([*lines, "", str(verdict)])

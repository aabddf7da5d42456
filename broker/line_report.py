"""What becomes of many lines, while it becomes it and at the end."""

from collections.abc import Callable
from dataclasses import dataclass

from tamis.broker.json_lines import WrongLine


@dataclass(slots=True)
class LineReport:
    """How many lines came to what."""

    lines: int = 0
    """Blank ones are none."""
    acknowledged: int = 0
    """Kafka has their records; of a dry run, those that would have been sent."""
    wrong: int = 0


@dataclass(frozen=True, slots=True)
class Listener:
    """Who is told on the way."""

    wrong: Callable[[WrongLine], None]
    progress: Callable[[LineReport], None] = lambda _report: None


class Account:
    """Keeps a report, and tells."""

    def __init__(self, listener: Listener) -> None:
        self.report = LineReport()
        self._listener = listener

    def wrong(self, one: WrongLine) -> None:
        self.report.wrong += 1
        self._listener.wrong(one)

    def refused(self, line: int, reason: str) -> None:
        self.wrong(WrongLine(line, reason))

    def acknowledged(self, count: int) -> None:
        self.report.acknowledged = count
        self._listener.progress(self.report)

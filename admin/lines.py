"""Lines that commands read from a file or from standard input, and what is told of the wrong ones."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from tamis.admin.errors import UsageError
from tamis.admin.session import Session, say
from tamis.admin.terminal import shown

if TYPE_CHECKING:
    from tamis.broker.json_lines import WrongLine
    from tamis.broker.line_report import Listener

_TOLD_MAX = 20
_KEPT_MAX = 1000
_BLOCK = 1 << 20


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """A file, or standard input for `-`."""
    if str(path) != "-":
        with path.open("rb") as file:
            yield file
        return
    if sys.stdin.isatty():
        say("Reading from the terminal, a JSON object a line; Ctrl-D ends it.")
    yield sys.stdin.buffer


def lines_in(path: Path) -> int | None:
    """How many lines a file has, about; None if that cannot be told before it is read."""
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(block.count(b"\n") for block in iter(lambda: file.read(_BLOCK), b""))


class WrongLines:
    """Tells the first ones on stderr, keeps more of them for the printed report, and counts all."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self._count = 0

    def tell(self, one: "WrongLine") -> None:
        self._count += 1
        if self._count <= _TOLD_MAX:
            first, *more = one.reason.splitlines()
            say(f"line {one.line}: {shown(first)}")
            for line in more:
                say(f"  {shown(line)}")
        if self._count <= _KEPT_MAX:
            self.kept.append({"line": one.line, "reason": one.reason})

    def end(self) -> None:
        if self._count > _TOLD_MAX:
            say(f"... and {self._count - _TOLD_MAX} more wrong lines; -o json has up to {_KEPT_MAX} of them.")


@contextmanager
def listening(session: Session, what: str, total: int | None, wrong: WrongLines) -> Iterator["Listener"]:
    """Shows progress, tells wrong lines, and when it is interrupted how far it came."""
    from tamis.broker.line_report import LineReport, Listener

    newest = LineReport()
    with session.progress(what, total) as advance:
        done = 0

        def tell_progress(report: LineReport) -> None:
            nonlocal newest, done
            newest = report
            now = report.acknowledged + report.wrong
            advance(now - done)
            done = now

        try:
            yield Listener(wrong.tell, tell_progress)
        except KeyboardInterrupt:
            say(f"Interrupted. Of {newest.lines} {what} that were read, {newest.acknowledged} or more are with Kafka.")
            raise
        finally:
            wrong.end()


def pairs_of(settings: list[str], option: str) -> dict[str, str]:
    """Of `name=value` each."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, value = setting.partition("=")
        if not equals or not name:
            raise UsageError(f"{option} {setting} is not NAME=VALUE.")
        if name in found:
            raise UsageError(f"{option} gives {name} twice.")
        found[name] = value
    return found

"""Lines that commands read from a file or from standard input, and what is told of the wrong ones."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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
    """How many lines a file has, blank ones too; None if that cannot be told before it is read."""
    if not path.is_file():
        return None
    count, last = 0, b"\n"
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            count += block.count(b"\n")
            last = block[-1:]
    return count + (last != b"\n")


class WrongLines:
    """Tells the first ones on stderr, keeps more of them for the printed report, and counts all."""

    def __init__(self) -> None:
        self.kept: list[dict[str, Any]] = []
        self._count = 0

    def tell(self, one: "WrongLine") -> None:
        self._count += 1
        if self._count <= _TOLD_MAX:
            first, *more = one.reason.splitlines()
            _say_above_bar(f"line {one.line}: {shown(first)}")
            for line in more:
                _say_above_bar(f"  {shown(line)}")
        if self._count <= _KEPT_MAX:
            self.kept.append({"line": one.line, "reason": one.reason})

    def end(self) -> None:
        if self._count > _TOLD_MAX:
            more = self._count - _TOLD_MAX
            _say_above_bar(f"... and {more} more wrong lines; -o json tells {_KEPT_MAX} of them.")


def _say_above_bar(line: str) -> None:
    """A bar of progress makes room for what goes to `sys.stderr` as it is, and for nothing else."""
    with suppress(BrokenPipeError):
        sys.stderr.write(f"{line}\n")


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

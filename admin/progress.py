"""How far long work has come, on stderr: a bar for people, lines of JSON for programs, else nothing."""

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum

Advance = Callable[[int], None]
"""Takes how many more are done."""
_JSON_SECONDS = 1.0


class Progress(StrEnum):
    """Who is to see it."""

    AUTO = "auto"
    """People at a terminal."""
    JSON = "json"
    """Programs, at the end and once a second."""
    NONE = "none"


@contextmanager
def progress(kind: Progress, what: str, total: int | None) -> Iterator[Advance]:
    """`what` is counted up to `total`, if that is known."""
    if kind is Progress.JSON:
        yield from _lines(what, total)
    elif kind is Progress.AUTO and sys.stderr.isatty():
        yield from _bar(what, total)
    else:
        yield lambda _more: None


def _lines(what: str, total: int | None) -> Iterator[Advance]:
    began = told = time.monotonic()
    done = 0

    def tell() -> None:
        seconds = time.monotonic() - began
        report = {"progress": what, "done": done, "total": total, "seconds": round(seconds, 3)}
        sys.stderr.write(json.dumps(report) + "\n")
        sys.stderr.flush()

    def advance(more: int) -> None:
        nonlocal done, told
        done += more
        if time.monotonic() - told >= _JSON_SECONDS:
            told = time.monotonic()
            tell()

    try:
        yield advance
    finally:
        tell()


def _bar(what: str, total: int | None) -> Iterator[Advance]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, ProgressColumn, Task, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as Bar
    from rich.text import Text

    class Rate(ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:,.0f}/s")

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), Rate(), TimeRemainingColumn())
    with Bar(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=total)

        def advance(more: int) -> None:
            bar.advance(task, more)

        yield advance

"""How far long work has come, on stderr: a bar for people, lines of JSON for programs, else nothing."""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Protocol

_JSON_SECONDS = 1.0


class Advance(Protocol):
    """Takes how many more are done; how many there are, once that is known; and what else there is to say."""

    def __call__(self, more: int, *, total: int | None = None, note: str = "") -> None: ...


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
        yield _silent


def _silent(more: int, *, total: int | None = None, note: str = "") -> None:
    del more, total, note


def _lines(what: str, total: int | None) -> Iterator[Advance]:
    began = told = time.monotonic()
    done, known, said = 0, total, ""

    def tell() -> None:
        seconds = time.monotonic() - began
        report = {"progress": what, "done": done, "total": known, "seconds": round(seconds, 3)}
        sys.stderr.write(json.dumps(report | ({"note": said} if said else {})) + "\n")
        sys.stderr.flush()

    def advance(more: int, *, total: int | None = None, note: str = "") -> None:
        nonlocal done, known, said, told
        done, known, said = done + more, total or known, note or said
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

    numbers = (MofNCompleteColumn(), Rate(), TimeRemainingColumn(), TextColumn("{task.fields[note]}"))
    with Bar(
        TextColumn("{task.description}"), BarColumn(), *numbers, console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(what, total=total, note="")

        def advance(more: int, *, total: int | None = None, note: str = "") -> None:
            bar.update(task, advance=more, total=total)
            if note:
                bar.update(task, note=note)

        yield advance

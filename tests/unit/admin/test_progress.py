"""How far work has come, for programs; the bar is for people, and there is one only at a terminal."""

import contextlib
import json
import os
import pty
import sys
from typing import Any

import pytest

from tamis.admin.progress import Progress, progress


def test_programs_are_told_a_total_and_a_note_once_they_are_known(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tamis.admin.progress._JSON_SECONDS", 0)
    with progress(Progress.JSON, "events", None) as advance:
        advance(3)
        advance(4, total=9, note="1 of 8 tasks")
        advance(2)
    told: list[dict[str, Any]] = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    shown = [(one["progress"], one["done"], one["total"], one.get("note")) for one in told]
    assert shown == [
        ("events", 3, None, None),
        ("events", 7, 9, "1 of 8 tasks"),
        *[("events", 9, 9, "1 of 8 tasks")] * 2,
    ]


def everything(terminal: int) -> str:
    """All that is there to be read."""
    os.set_blocking(terminal, False)
    shown = b""
    with contextlib.suppress(BlockingIOError):
        while some := os.read(terminal, 1 << 16):
            shown += some
    return shown.decode()


def test_people_see_a_bar_with_all_of_that(monkeypatch: pytest.MonkeyPatch) -> None:
    here, there = pty.openpty()
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "150")
    with os.fdopen(there, "w") as terminal:
        monkeypatch.setattr(sys, "stderr", terminal)
        with progress(Progress.AUTO, "events", None) as advance:
            advance(4_000, total=9_000, note="1 of 8 tasks")
        terminal.flush()
        shown = everything(here)
    os.close(here)
    assert "4000/9000" in shown
    assert "1 of 8 tasks" in shown


@pytest.mark.parametrize("kind", [Progress.NONE, Progress.AUTO])
def test_nobody_who_did_not_ask_is_told(kind: Progress, capsys: pytest.CaptureFixture[str]) -> None:
    with progress(kind, "events", 1) as advance:
        advance(1, total=2, note="more")
    assert capsys.readouterr().err == ""

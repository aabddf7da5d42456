"""A process that uses too much memory stops; one that does so for a moment does not."""

import itertools
from types import SimpleNamespace

import pytest

from tamis.broker.errors import InvalidError
from tamis.broker.memory import MemoryBound, resident_bytes


def looked(monkeypatch: pytest.MonkeyPatch, most: int | None, *used: int) -> None:
    """Once a second, with so much in use each time."""
    seconds = itertools.count(100.0)
    measured = iter(used)
    monkeypatch.setattr("tamis.broker.memory.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr("tamis.broker.memory.resident_bytes", lambda: next(measured))
    bound = MemoryBound(most)
    for _ in used:
        bound.look(7)


def test_it_stops_for_what_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    mib = 1 << 20
    with pytest.raises(InvalidError, match="With 7 subscriptions this process uses 12 MiB, and may use 10"):
        looked(monkeypatch, 10 * mib, 10 * mib, 11 * mib, 11 * mib, 12 * mib)


def test_it_does_not_stop_for_what_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked(monkeypatch, 10, 11, 11, 10, 11, 11, 9)


def test_without_a_bound_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    looked(monkeypatch, None, 1 << 60, 1 << 60, 1 << 60, 1 << 60)


def test_what_is_measured_grows_with_what_is_used() -> None:
    before = resident_bytes()
    held = b"\x01" * (64 << 20)
    assert resident_bytes() - before > len(held) * 0.9

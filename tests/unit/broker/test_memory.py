"""A process that uses too much memory stops; one that does so for a moment does not."""

import itertools
import mmap
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from types import SimpleNamespace

import pytest

from tamis.broker.errors import InvalidError
from tamis.broker.memory import MemoryBound, granted_bytes, own_bytes, resident_bytes


def looked(monkeypatch: pytest.MonkeyPatch, most: int | None, *used: int) -> None:
    """Once a second, with so much in use each time."""
    seconds = itertools.count(100.0)
    measured = iter(used)
    monkeypatch.setattr("tamis.broker.memory.time", SimpleNamespace(monotonic=lambda: next(seconds)))
    monkeypatch.setattr("tamis.broker.memory.own_bytes", lambda: next(measured))
    bound = MemoryBound(most)
    for _ in used:
        bound.look(7)


def test_it_stops_for_what_lasts(monkeypatch: pytest.MonkeyPatch) -> None:
    mib = 1 << 20
    with pytest.raises(InvalidError, match="With 7 subscriptions this process uses 12 MiB, and may use 10"):
        looked(monkeypatch, 10 * mib, 10 * mib, 11 * mib, 11 * mib, 12 * mib)


def test_it_does_not_stop_for_what_goes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    looked(monkeypatch, 10, 11, 11, 10, 11, 11, 9)


def test_without_a_bound_it_is_most_of_what_the_system_grants(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tamis.broker.memory.granted_bytes", lambda: None)
    looked(monkeypatch, None, 1 << 60, 1 << 60, 1 << 60, 1 << 60)
    monkeypatch.setattr("tamis.broker.memory.granted_bytes", lambda: 100 << 20)
    looked(monkeypatch, None, 90 << 20, 90 << 20, 90 << 20)
    with pytest.raises(InvalidError, match="may use 90"):
        looked(monkeypatch, None, 91 << 20, 91 << 20, 91 << 20)


@pytest.mark.parametrize(("takes", "every"), [(0.001, [11, 22, 33]), (0.0155, [11, 27])])
def test_what_is_free_goes_back_now_and_then(monkeypatch: pytest.MonkeyPatch, takes: float, every: list[int]) -> None:
    clock = SimpleNamespace(now=1000.0)
    given: list[float] = []

    def give_back() -> None:
        given.append(clock.now - 1000)
        clock.now += takes

    monkeypatch.setattr("tamis.broker.memory.time", SimpleNamespace(monotonic=lambda: clock.now))
    monkeypatch.setattr("tamis.broker.memory.give_back", give_back)
    bound = MemoryBound(None)
    for second in range(40):
        clock.now = 1000.0 + second
        bound.look(7)
    assert given == every


@pytest.mark.parametrize(
    ("group", "limits", "granted"),
    [
        ("0::/a/b", {"a/b/memory.max": "max", "a/memory.max": "7000", "memory.max": "9000"}, 7000),
        ("0::/", {"memory.max": "5000"}, 5000),
        ("0::/../outside", {"memory.max": "5000"}, 5000),
        ("0::/a", {"a/memory.max": "max"}, None),
        ("4:memory:/a/b\n0::/", {"memory/a/b/memory.limit_in_bytes": "6000"}, 6000),
        ("4:memory:/unseen\n3:cpu:/", {"memory/memory.limit_in_bytes": "6000"}, 6000),
        ("4:memory:/", {"memory/memory.limit_in_bytes": str((1 << 63) - 4096)}, None),
        ("4:memory:/", {}, None),
        (None, {}, None),
    ],
)
def test_what_the_system_grants_is_the_least_of_all_groups(
    tmp_path: Path, group: str | None, limits: Mapping[str, str], granted: int | None
) -> None:
    files = {f"sys/fs/cgroup/{name}": text for name, text in limits.items()}
    for name, text in (files if group is None else {**files, "proc/self/cgroup": group}).items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text + "\n")
    assert granted_bytes(tmp_path) == granted


@pytest.mark.parametrize("measure", [resident_bytes, own_bytes])
def test_what_is_measured_grows_with_what_is_used(measure: Callable[[], int]) -> None:
    before = measure()
    held = b"\x01" * (64 << 20)
    assert measure() - before > len(held) * 0.9


def test_what_is_mapped_from_a_file_is_not_its_own(tmp_path: Path) -> None:
    file = tmp_path / "mapped"
    file.write_bytes(bytes(64 << 20))
    before = own_bytes()
    with file.open("rb") as opened, mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        assert mapped.find(b"\x01") == -1
        assert own_bytes() - before < 32 << 20


THREADS = """
import ctypes, sys, threading
from tamis.broker.memory import bound_arenas

bound_arenas()
begun = threading.Barrier(8)

def work():
    begun.wait()  # all at once, since one that has ended leaves its own to the next
    held.append(bytes(5000))

held = []
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
libc = ctypes.CDLL(None)
libc.fdopen.restype = ctypes.c_void_p
file = ctypes.c_void_p(libc.fdopen(sys.stdout.fileno(), b"w"))
libc.malloc_info(0, file)
libc.fflush(file)
"""
"""Prints what glibc tells of its arenas."""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library has no arenas")
@pytest.mark.parametrize(("variables", "count"), [({}, 2), ({"MALLOC_ARENA_MAX": "4"}, 4)], ids=["bound", "as told"])
def test_threads_share_arenas(variables: Mapping[str, str], count: int) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "MALLOC_ARENA_MAX"}
    told = subprocess.run(
        [sys.executable, "-c", THREADS], env={**environment, **variables}, capture_output=True, check=True, text=True
    )
    assert told.stdout.count("<heap nr=") == count, told.stdout

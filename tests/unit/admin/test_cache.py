import fcntl
from pathlib import Path

import pytest

from tamis.admin.local import StackError
from tamis.admin.local.cache import cache_folder, disk_errors_explained, locked, require_space


def test_the_cache_is_where_the_user_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    assert cache_folder() == tmp_path / "caches" / "tamis"
    assert cache_folder().is_dir()


def test_without_a_word_it_is_in_the_home_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "tamis"


def test_a_cache_that_cannot_be_made_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null")
    with pytest.raises(StackError, match=r"/dev/null/tamis cannot be written: .*XDG_CACHE_HOME"):
        cache_folder()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_explained() -> None:
    full = Path("/dev/full")
    with (
        pytest.raises(StackError, match=r"The disk that holds .* is full"),
        disk_errors_explained(full),
    ):
        full.write_text("x")


def test_too_little_space_is_said_with_both_figures(tmp_path: Path) -> None:
    with pytest.raises(StackError, match=r"has \d+ MB free, and a test needs 1000000000000 MB"):
        require_space(tmp_path, 10**18, "a test")
    require_space(tmp_path, 1, "a test")


def test_a_lock_that_is_held_is_waited_for_with_one_word(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    said: list[str] = []
    with path.open("w") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)

        def waiting() -> None:
            said.append("waiting")
            fcntl.flock(holder, fcntl.LOCK_UN)

        with locked(path, waiting):
            assert said == ["waiting"]
    with locked(path, waiting):
        assert said == ["waiting"]

import os
from pathlib import Path

import pytest

from tamis.admin.local.archive import archive_key, find_archive, keep_archive
from tamis.admin.local.java import Java

JAVA = Java(Path("/opt/java/bin/java"), 17, "17.0.1")


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    path = tmp_path / "classes.jsa"
    path.write_bytes(b"classes" * 1000)
    return path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "cache"
    folder.mkdir()
    return folder


def test_a_kept_archive_is_found_by_its_key_only(folder: Path, fresh: Path) -> None:
    content = fresh.read_bytes()
    keep_archive(folder, "key", fresh)
    found = find_archive(folder, "key")
    assert found is not None
    assert found.read_bytes() == content
    assert find_archive(folder, "other") is None


def test_a_damaged_archive_is_not_used_and_removed(folder: Path, fresh: Path) -> None:
    keep_archive(folder, "key", fresh)
    found = find_archive(folder, "key")
    assert found is not None
    with found.open("r+b") as file:
        file.seek(100)
        file.write(b"!")
    assert find_archive(folder, "key") is None
    assert not found.exists()


def test_a_truncated_archive_is_not_used(folder: Path, fresh: Path) -> None:
    keep_archive(folder, "key", fresh)
    found = find_archive(folder, "key")
    assert found is not None
    os.truncate(found, 10)
    assert find_archive(folder, "key") is None


def test_a_few_archives_are_kept_and_the_oldest_goes(folder: Path, fresh: Path) -> None:
    """Two Javas on one machine do not take each other's away."""
    for age in range(5):
        fresh.write_bytes(b"classes" * age)
        os.utime(fresh, (age, age))
        keep_archive(folder, f"key{age}", fresh)
    assert [find_archive(folder, f"key{age}") is not None for age in range(5)] == [False, True, True, True, True]
    assert {path.suffix for path in folder.glob("classes*")} == {".jsa"}


def test_of_two_first_starts_at_once_one_archive_stays(folder: Path, fresh: Path) -> None:
    for content in (b"one", b"two"):
        fresh.write_bytes(content)
        keep_archive(folder, "key", fresh)
    assert len(list(folder.glob("classes*"))) == 1
    found = find_archive(folder, "key")
    assert found is not None
    assert found.read_bytes() == b"two"


def test_an_archive_that_cannot_be_moved_leaves_nothing(folder: Path) -> None:
    with pytest.raises(FileNotFoundError):
        keep_archive(folder, "key", folder / "nowhere")
    assert list(folder.glob("classes*")) == []


def test_the_key_changes_with_all_that_an_archive_depends_on(tmp_path: Path) -> None:
    jar = tmp_path / "a.jar"
    jar.write_bytes(b"jar")
    key = archive_key(JAVA, ["-Xmx1g"], [jar])
    assert archive_key(JAVA, ["-Xmx1g"], [jar]) == key
    others = {
        archive_key(Java(JAVA.command, 17, "17.0.2"), ["-Xmx1g"], [jar]),
        archive_key(Java(Path("/usr/bin/java"), 17, "17.0.1"), ["-Xmx1g"], [jar]),
        archive_key(JAVA, ["-Xmx2g"], [jar]),
        archive_key(JAVA, ["-Xmx1g"], [jar, jar]),
    }
    os.utime(jar, (1, 1))  # Java compares the jars' times too
    others.add(archive_key(JAVA, ["-Xmx1g"], [jar]))
    assert len(others) == 5
    assert key not in others

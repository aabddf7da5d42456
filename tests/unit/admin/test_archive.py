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


def test_a_new_archive_takes_the_place_of_the_stale_one(folder: Path, fresh: Path) -> None:
    keep_archive(folder, "old", fresh)
    fresh.write_bytes(b"newer")
    keep_archive(folder, "new", fresh)
    assert [path.suffix for path in folder.glob("classes*")] == [".jsa"]
    assert find_archive(folder, "old") is None
    assert find_archive(folder, "new") is not None


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

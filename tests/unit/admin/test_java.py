from pathlib import Path

import pytest

from tamis.admin.local import StackError
from tamis.admin.local.java import find_java


def java_that_says(folder: Path, text: str, exit_code: int = 0) -> Path:
    command = folder / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{text}\nEND\nexit {exit_code}\n")
    command.chmod(0o755)
    return folder


@pytest.mark.parametrize(
    ("first_line", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('openjdk version "21" 2023-09-19 LTS', 21),
        ('java version "25-ea" 2025-09-16', 25),
        ('Picked up JAVA_TOOL_OPTIONS: -Dx=y\nopenjdk version "17.0.1" 2021-10-19', 17),
    ],
)
def test_the_version_is_read_from_what_java_says(
    first_line: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, first_line)))
    java = find_java()
    assert java.version == version
    assert java.command == tmp_path / "bin" / "java"


@pytest.mark.parametrize(("said", "version"), [('java version "1.8.0_292"', 8), ('openjdk version "11.0.2"', 11)])
def test_a_java_that_is_too_old_is_refused_with_its_version_and_the_remedy(
    said: str, version: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(java_that_says(tmp_path, said)))
    with pytest.raises(StackError, match=rf"is Java {version}, which is too old.*Java 17"):
        find_java()


def test_no_java_at_all_is_said_with_the_remedy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StackError, match=r"There is no Java on PATH.*apt-get install"):
        find_java()


def test_a_java_home_without_java_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(StackError, match=f"JAVA_HOME is {tmp_path}, where there is no bin/java"):
        find_java()


def test_a_placeholder_that_only_says_there_is_no_java_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As macOS has at /usr/bin/java."""
    home = java_that_says(tmp_path, "Unable to locate a Java Runtime.", exit_code=1)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(StackError, match="does not run"):
        find_java()

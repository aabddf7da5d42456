"""Which Java runs Kafka and Spark."""

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

from tamis.admin.errors import StackError

OLDEST = 17
"""Servers of Kafka 4 run on Java 17 or newer, and so does Spark 4."""

_HOW_TO_INSTALL = (
    f"Install Java {OLDEST} or newer (Debian: apt-get install default-jre-headless; macOS: brew install "
    "openjdk@17) and put it on PATH, or set JAVA_HOME."
)


@dataclass(frozen=True)
class Java:
    """A Java runtime: its command, and all that `java -version` says of it."""

    command: Path
    version: int
    identity: str


def find_java() -> Java:
    """The Java of `JAVA_HOME`, else the one on PATH; too old or none is a `StackError`."""
    command = _command()
    try:
        # macOS ships a `java` that only says that there is none, hence the exit code.
        answer = subprocess.run(
            [command, "-version"], capture_output=True, text=True, errors="replace", timeout=60, check=True
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise StackError(f"{command} does not run: {error}. {_HOW_TO_INSTALL}") from error
    found = re.search(r'version "(\d+)(?:\.(\d+))?', answer.stderr)
    if not found:
        raise StackError(f"{command} -version says nothing of a version: {answer.stderr!r}. {_HOW_TO_INSTALL}")
    first, second = int(found[1]), int(found[2] or 0)
    version = second if first == 1 else first  # Java 8 calls itself 1.8
    if version < OLDEST:
        raise StackError(f"{command} is Java {version}, which is too old for Kafka and Spark. {_HOW_TO_INSTALL}")
    return Java(command, version, answer.stderr)


def _command() -> Path:
    home = os.environ.get("JAVA_HOME")
    if home:
        command = Path(home).absolute() / "bin" / "java"
        if not command.exists():
            raise StackError(f"JAVA_HOME is {home}, where there is no bin/java. {_HOW_TO_INSTALL}")
        return command
    on_path = shutil.which("java")
    if on_path is None:
        raise StackError(f"There is no Java on PATH, and JAVA_HOME is not set. {_HOW_TO_INSTALL}")
    return Path(on_path).absolute()

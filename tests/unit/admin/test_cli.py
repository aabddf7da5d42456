import os
import subprocess
import sys
from pathlib import Path

import pytest

TAMIS = [sys.executable, "-m", "tamis.admin"]


def tamis(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*TAMIS, *arguments], capture_output=True, text=True, check=False, env={**os.environ, **environment}
    )


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["dev", "--help"]])
def test_help_is_on_stdout(arguments: list[str]) -> None:
    run = tamis(*arguments)
    assert run.returncode == 0
    assert "Usage: " in run.stdout
    assert run.stderr == ""


def test_help_of_a_command_has_examples() -> None:
    assert "Examples:\n    tamis dev  " in tamis("dev", "--help").stdout


def test_the_version_is_the_packages() -> None:
    from importlib.metadata import version

    assert tamis("--version").stdout == f"tamis {version('tamis')}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dve"], "Did you mean 'dev'?"),
        (["dev", "--brokers", "many"], "--brokers"),
        (["dev", "--kafka-port", "99999999"], "--kafka-port"),
        (["dev", "--brokers", "2"], "1 broker, or 3"),
    ],
)
def test_wrong_usage_is_said_on_stderr_with_exit_code_2(arguments: list[str], said: str) -> None:
    run = tamis(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_a_missing_java_is_one_message_and_exit_code_3(tmp_path: Path) -> None:
    run = tamis("dev", JAVA_HOME=str(tmp_path))
    assert run.returncode == 3
    assert run.stderr.startswith(f"Error: JAVA_HOME is {tmp_path}, where there is no bin/java. Install Java 17")
    assert "Traceback" not in run.stderr


def test_the_command_line_loads_nothing_heavy_before_it_must() -> None:
    script = "import sys, tamis.admin.cli; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {"confluent_kafka", "jgo", "numpy", "pydantic", "pyspark", "redis", "requests"} & set(loaded)

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tamis.admin.cli import COMMANDS
from tamis.admin.errors import DeclinedError, UsageError
from tamis.admin.global_options import GlobalOptions
from tamis.admin.progress import Progress, progress
from tamis.admin.session import Session
from tamis.broker.configuration import Settings
from tamis.broker.settings_files import Loaded

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


@pytest.mark.parametrize("command", list(COMMANDS))
def test_each_command_that_the_root_lists_is_there(command: str) -> None:
    assert f"  {command} " in tamis("--help").stdout
    run = tamis(command, "--help")
    assert run.returncode == 0
    assert f"Usage: tamis {command} " in run.stdout
    assert "Every command also takes" in run.stdout or "Commands:" in run.stdout


@pytest.mark.parametrize(
    "arguments", [["-o", "json", "config", "show"], ["config", "-o", "json", "show"], ["config", "show", "-o", "json"]]
)
def test_a_global_option_may_stand_before_and_after_the_command(arguments: list[str], tmp_path: Path) -> None:
    rows = json.loads(tamis(*arguments, XDG_CONFIG_HOME=str(tmp_path)).stdout)
    assert rows[0] == {"key": "prefix", "value": "tamis", "origin": "default"}


def test_what_stands_nearer_to_the_command_wins_and_properties_add_up(tmp_path: Path) -> None:
    arguments = ["-X", "client.id=a", "-o", "json", "config", "show", "-o", "csv", "-X", "security.protocol=SSL"]
    lines = tamis(*arguments, XDG_CONFIG_HOME=str(tmp_path)).stdout.splitlines()
    assert lines[0] == "key,value,origin"
    assert 'kafka.extra."client.id",a,flag -X' in lines[3].replace('"""', '"').replace('""', '"')
    assert any("security.protocol" in line and line.endswith("SSL,flag -X") for line in lines)


def test_the_configuration_is_shown_with_its_origins_and_without_its_secrets(tmp_path: Path) -> None:
    run = tamis(
        *("config", "show", "--origin"), XDG_CONFIG_HOME=str(tmp_path), TAMIS_KAFKA__EXTRA__SASL_PASSWORD="hush"
    )
    assert run.returncode == 0
    lines = [line.split(maxsplit=2) for line in run.stdout.splitlines()]
    assert ['kafka.extra."sasl.password"', "***", "environment TAMIS_KAFKA__EXTRA__SASL_PASSWORD"] in lines
    assert "hush" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        (["config", "show", "-X", "acks=0"], 2, "acks is not configurable"),
        (["config", "show", "-X", "acks"], 2, "not KEY=VALUE"),
        (["config", "show", "--config", "/none/such.toml"], 4, "There is no file /none/such.toml"),
        (["config", "show", "--context", "none"], 4, "There is no context none"),
        (["config", "show", "-o", "xml"], 2, "xml"),
        (["topics", "list", "--bootstrap-server", "127.0.0.1:1"], 3, "looked for at 127.0.0.1:1 (flag"),
    ],
)
def test_a_users_mistake_is_one_message_and_its_exit_code(
    arguments: list[str], code: int, said: str, tmp_path: Path
) -> None:
    run = tamis(*arguments, XDG_CONFIG_HOME=str(tmp_path))
    assert (run.returncode, run.stdout) == (code, "")
    assert said in run.stderr
    assert "Traceback" not in run.stderr


def test_debug_tells_where_an_error_comes_from(tmp_path: Path) -> None:
    run = tamis("config", "show", "-X", "acks=0", "--debug", XDG_CONFIG_HOME=str(tmp_path))
    assert run.returncode == 2
    assert "Traceback" in run.stderr


def broken_by(statement: str) -> subprocess.CompletedProcess[str]:
    """A command that meets this where it asks for its settings."""
    script = (
        f"import tamis.admin.session as session\ndef fail(self):\n    {statement}\n"
        "session.Session.settings = property(fail)\nfrom tamis.admin.cli import main\nmain()"
    )
    return subprocess.run([sys.executable, "-c", script, "topics", "list"], capture_output=True, text=True, check=False)


def test_a_mistake_of_ours_is_told_as_one_with_exit_code_70() -> None:
    run = broken_by("1 / 0")
    assert run.returncode == 70
    assert "mistake in Tamis: ZeroDivisionError" in run.stderr
    assert "Traceback" not in run.stderr


def test_an_interrupted_command_has_exit_code_130() -> None:
    run = broken_by("raise KeyboardInterrupt")
    assert (run.returncode, run.stderr) == (130, "")


def test_a_production_context_is_announced_on_stderr(tmp_path: Path) -> None:
    folder = tmp_path / "tamis"
    folder.mkdir()
    (folder / "config.toml").write_text("[contexts.prod]\nproduction = true")
    run = tamis("--context", "prod", "config", "show", XDG_CONFIG_HOME=str(tmp_path))
    assert run.stderr == "The context prod is production.\n"
    assert "production" not in run.stdout


def test_a_reader_that_has_gone_is_no_error() -> None:
    line = f"{sys.executable} -m tamis.admin config show | true; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", line], capture_output=True, text=True, timeout=60, check=False)
    assert (run.returncode, run.stderr) == (0, "")


class Screen(io.StringIO):
    def isatty(self) -> bool:
        return True


def asking(monkeypatch: pytest.MonkeyPatch, typed: str, *, yes: bool = False, no_input: bool = False) -> Session:
    monkeypatch.setattr(sys, "stdin", Screen(typed))
    session = Session()
    session.options = GlobalOptions(yes=yes, no_input=no_input)
    session.__dict__["configuration"] = Loaded(Settings(), {}, frozenset())
    return session


def test_a_question_is_asked_unless_it_is_answered_already(monkeypatch: pytest.MonkeyPatch) -> None:
    asking(monkeypatch, "y\n").confirm("Really?")
    asking(monkeypatch, "", yes=True).confirm("Really?")
    with pytest.raises(DeclinedError):
        asking(monkeypatch, "n\n").confirm("Really?")
    with pytest.raises(UsageError, match="--yes"):
        asking(monkeypatch, "y\n", no_input=True).confirm("Really?")


def test_progress_for_programs_is_json_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(Progress.JSON, "events", 3) as advance:
        advance(2)
    line = json.loads(capsys.readouterr().err)
    assert (line["progress"], line["done"], line["total"]) == ("events", 2, 3)


def test_progress_is_nothing_where_nobody_looks(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(Progress.AUTO, "events", 3) as advance:
        advance(2)
    assert capsys.readouterr().err == ""


def test_progress_at_a_terminal_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with progress(Progress.AUTO, "events", 3) as advance:
        advance(2)
    assert "events" in screen.getvalue()
    assert "2/3" in screen.getvalue()


def test_a_missing_java_is_one_message_and_exit_code_3(tmp_path: Path) -> None:
    run = tamis("dev", JAVA_HOME=str(tmp_path))
    assert run.returncode == 3
    assert run.stderr.startswith(f"Error: JAVA_HOME is {tmp_path}, where there is no bin/java. Install Java 17")
    assert "Traceback" not in run.stderr


def test_the_command_line_loads_nothing_heavy_before_it_must() -> None:
    script = "import sys, tamis.admin.cli; print(*sorted(m for m in sys.modules if '.' not in m))"
    loaded = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.split()
    assert not {
        "confluent_kafka",
        "fastavro",
        "jgo",
        "numpy",
        "pydantic",
        "pyspark",
        "redis",
        "requests",
        "rich",
    } & set(loaded)

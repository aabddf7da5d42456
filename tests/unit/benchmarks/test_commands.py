import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from benchmarks.workloads.be_gen import BEGen
from benchmarks.workloads.commands import main
from benchmarks.workloads.measures import nodes
from benchmarks.workloads.registry import WORKLOADS

ROOT = Path(__file__).parents[3]


@dataclass
class Run:
    returncode: object
    stdout: str
    stderr: str


Workloads = Callable[..., Run]


@pytest.fixture
def workloads(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Workloads:
    """The command line, in this process."""

    def run(*arguments: str) -> Run:
        monkeypatch.setattr(sys, "argv", ["workloads", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        said = capsys.readouterr()
        return Run(ended.value.code, said.out, said.err)

    return run


def test_help_has_commands(workloads: Workloads) -> None:
    run = workloads("--help")
    assert run.returncode == 0
    assert all(command in run.stdout for command in ("list", "write", "describe"))


@pytest.mark.parametrize("command", ["write", "describe"])
def test_help_of_a_command_has_examples(workloads: Workloads, command: str) -> None:
    assert f"Examples:\n    python -m benchmarks.workloads {command} W1" in workloads(command, "--help").stdout


def test_it_is_a_module_that_runs() -> None:
    command = [sys.executable, "-m", "benchmarks.workloads", "list"]
    run = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert run.stdout.startswith("W1 ")


def test_list_names_every_workload_and_its_paper(workloads: Workloads) -> None:
    lines = workloads("list").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(WORKLOADS)
    assert "ps-tree-2018, Table 1" in lines[0]


def test_write_and_read_back(workloads: Workloads, tmp_path: Path) -> None:
    folder = tmp_path / "made" / "w5"
    arguments = ["W5", "--folder", str(folder), "--subscriptions", "300", "--events", "20", "--seed", "3", "--columns"]
    run = workloads("write", *arguments, "--set", "range_size=3")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    texts = (folder / "subscriptions.txt").read_text().splitlines()
    events = [json.loads(line) for line in (folder / "events.jsonl").read_text().splitlines()]
    weights = [json.loads(line) for line in (folder / "weights.jsonl").read_text().splitlines()]
    about = json.loads((folder / "workload.json").read_text())
    assert (len(texts), len(events), len(weights)) == (300, 20, 20)
    assert about["parameters"]["seed"] == 3
    assert about["parameters"]["range_size"] == 3
    offsets = np.load(folder / "subscription_offsets.npy")
    highs, lows = np.load(folder / "subscription_highs.npy"), np.load(folder / "subscription_lows.npy")
    assert offsets[-1] == len(highs) == len(np.load(folder / "subscription_attributes.npy"))
    assert f"between {lows[0]} and {highs[0]} " in texts[0]
    assert np.load(folder / "event_values.npy")[:15].tolist() == list(events[0].values())
    assert not list(folder.glob("*.part"))


def test_describe_puts_measured_asked_and_published_side_by_side(workloads: Workloads) -> None:
    run = workloads("describe", "W1", "--subscriptions", "500", "--events", "20", "--set", "equality_ratio=0.4")
    rows = {line[:32].strip(): line[32:].split() for line in run.stdout.splitlines()}
    assert run.stderr == ""
    measured, asked, paper = rows["operator ="]
    assert 0.35 < float(measured) < 0.45
    assert (asked, paper) == ("0.4", "0.2")


def test_what_is_shared_is_sized_for_the_subscriptions_asked_for(workloads: Workloads) -> None:
    run = workloads("describe", "W3x", "--subscriptions", "1000", "--events", "1")
    rows = {line[:32].strip(): line[32:].split() for line in run.stdout.splitlines()}
    assert float(rows["subexpression sharing"][0]) > 3


def test_a_file_is_there_whole_or_not_at_all(
    workloads: Workloads, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> list[str]:
        raise KeyboardInterrupt

    monkeypatch.setattr(BEGen, "subscription_chunk", interrupted)
    assert workloads("write", "W1", "--folder", str(tmp_path)).returncode == 130
    assert not list(tmp_path.iterdir())


def test_nothing_of_an_earlier_workload_stays(workloads: Workloads, tmp_path: Path) -> None:
    small = ["--folder", str(tmp_path), "--subscriptions", "1", "--events", "1"]
    (tmp_path / "mine.txt").touch()
    workloads("write", "W5", *small, "--columns")
    workloads("write", "W3", *small)
    left = sorted(path.name for path in tmp_path.iterdir())
    assert left == ["events.jsonl", "mine.txt", "subscriptions.txt", "workload.json"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["describe", "w3X"], "no workload 'w3X'; did you mean W3x?"),
        (["describe", "zzzz"], "there are W1, W1e"),
        (["describe", "W1", "--set", "size=3"], "no parameter 'size'; there are seeded_share"),
        (["describe", "W1", "--set", "event_size"], "write it as parameter=value"),
        (["describe", "W1", "--set", "event_size=many"], "'many' is no int, as 30 is"),
        (["describe", "W1", "--set", "event_size=1000"], "event_size = 1000 is out of range: 1 to 100"),
        (["describe", "W1", "--set", "matching_probability=0.95"], "cannot be reached"),
        (["describe", "W3", "--set", "root_children=('a',)"], "is no tuple"),
        (["describe", "W1", "--subscriptions", "0"], "--subscriptions"),
        (["write", "W3", "--folder", "/nowhere", "--columns"], "W3 has no columns"),
        (["write", "W1", "--folder", "/dev/null/w1", "--subscriptions", "1"], "cannot write into /dev/null/w1: "),
    ],
)
def test_what_a_user_can_mend_is_one_message_and_exit_code_2(
    workloads: Workloads, arguments: list[str], said: str
) -> None:
    run = workloads(*arguments)
    assert run.returncode == 2
    assert run.stdout == ""
    assert said in run.stderr
    assert "Traceback" not in run.stderr


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a between 1 and 2", []),
        ('a not in (1, 2) and b = "x or (y"', ["and"]),
        ("not (a = 1 or b in (3, 4))", ["or", "not"]),
        ("(a = 1 xor `and` = 2) xnor (not c in (5, 6))", ["xor", "not", "xnor"]),
    ],
)
def test_nodes_of_a_text(text: str, expected: list[str]) -> None:
    assert [connective for connective, _ in nodes(text)] == expected
    assert not expected or list(nodes(text))[-1][1] == text

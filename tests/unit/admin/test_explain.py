"""`tamis explain`: needs no Kafka, so all of it is held here."""

import io
import json
from pathlib import Path

import pytest

from tamis.admin.cli import run
from tamis.admin.moments import kafka_moment, moment

EVENT = '{"price": 450, "region": "us", "maker": {"name": "x"}}'


@pytest.mark.parametrize(
    ("expression", "code", "printed"),
    [
        ("price < 500", 0, "true    price < 500  (450)\nmatch\n"),
        ('region = "eu"', 1, 'false   region = "eu"  ("us")\nno match\n'),
        (
            'price < 500 and not (colour = "red" or region > 5)',
            1,
            """\
unknown price < 500 and not (colour = "red" or region > 5)
true      price < 500  (450)
unknown   not (colour = "red" or region > 5)
unknown     colour = "red" or region > 5
unknown       colour = "red"  (missing)
unknown       region > 5  ("us", of another type)
no match: the event leaves it open
""",
        ),
        ('maker.name = "x" and exists $topic and missing $key', 0, None),
    ],
)
def test_each_clause_is_told_and_the_exit_code_is_the_answer(
    expression: str, code: int, printed: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "--expression", expression, EVENT]) == code
    found, said = capsys.readouterr()
    assert printed in (None, found)
    assert said == ""


def test_as_json_it_is_a_tree(capsys: pytest.CaptureFixture[str]) -> None:
    run(["explain", "-e", "price < 500 or colour = 5", EVENT, "-o", "json"])
    assert json.loads(capsys.readouterr().out) == {
        "id": "tamis.events/0/0",
        "matches": True,
        "verdict": True,
        "explanation": {
            "text": "price < 500 or colour = 5",
            "verdict": True,
            "children": [
                {"text": "price < 500", "verdict": True, "state": "value", "value": 450},
                {"text": "colour = 5", "verdict": None, "state": "missing", "value": None},
            ],
        },
    }


def test_events_come_from_a_file_or_from_standard_input(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One that matches is enough, as one line is for grep."""
    lines = '{"attributes": {"a": 1}, "id": "x"}\n{"a": 2}\n'
    file = tmp_path / "events"
    file.write_text(lines)
    assert run(["explain", "-e", "a = 1", f"@{file}", "-o", "ndjson"]) == 0
    from_file = capsys.readouterr().out
    assert [json.loads(line)["matches"] for line in from_file.splitlines()] == [True, False]
    assert json.loads(from_file.splitlines()[0])["id"] == "x"
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert run(["explain", "-e", "a = 3", "-"]) == 1


@pytest.mark.parametrize(
    ("expression", "event", "code", "said"),
    [
        ("price <", "{}", 6, "column 8: the end of the text stands where"),
        ("price < 5", "{", 6, "The event cannot be taken: "),
        ("price < 5", "[]", 6, "no object"),
        ("price < 5", '{"attributes": {"a": []}}', 6, "attribute 'a'"),
        ("price < 5", '{"attributes": {}, "tme": 5}', 6, "did you mean 'time'?"),
        ("price < 5", "@/nowhere/at/all", 4, "/nowhere/at/all"),
        ("price < 5", '{"a": "\udcff"}', 6, "not UTF-8"),
    ],
)
def test_what_cannot_be_taken_is_told(
    expression: str, event: str, code: int, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["explain", "-e", expression, event]) == code
    printed, told = capsys.readouterr()
    assert printed == ""
    assert said in told


def test_an_infinity_is_a_value_that_events_may_have(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "-e", "a > 5", '{"attributes": {"a": 1e999}}', "-o", "json"]) == 0
    assert '"value":1e999' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (-1_000, "1969-12-31T23:59:59.999Z"),
        (1_794_988_800_123_456, "2026-11-18T08:00:00.123Z"),
        (1 << 62, "4611686018427387904"),
    ],
)
def test_times_are_told_in_utc(microseconds: int, text: str) -> None:
    assert moment(microseconds) == text


def test_a_record_without_a_timestamp_has_none() -> None:
    assert kafka_moment(-1) is None
    assert kafka_moment(5) == "1970-01-01T00:00:00.005Z"


@pytest.mark.parametrize(
    "command",
    [
        *("subscribe", "unsubscribe", "publish", "tail", "explain", "rejected tail"),
        *("subscriptions list", "subscriptions show", "subscriptions pause", "subs resume"),
    ],
)
def test_each_command_helps_with_examples(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), "--help"]) == 0
    printed = capsys.readouterr().out
    assert f"Examples:\n    tamis {command.replace('subs ', 'subscriptions ')} " in printed

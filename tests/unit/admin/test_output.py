import csv
import io
import json
from collections.abc import Iterator

import pytest
import yaml

from tamis.admin.output import Column, Output, Printer, Row
from tamis.admin.yaml import yaml_lines

COLUMNS = [
    Column("name"),
    Column("count", right=True),
    Column("status", colours={"FAIL": "red"}),
    Column("tags", title="labels"),
    Column("note", wide=True),
]
ROWS = [
    {"name": "ann", "count": 7, "status": "OK", "tags": {"team": "sales"}, "note": None, "inner": [1, True]},
    {"name": "bob", "count": 1234, "status": "FAIL", "tags": {}, "note": "two\nlines, and \x1b[2J", "inner": []},
]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def printed(how: str, form: Output | None, *, terminal: bool = False, colour: bool = False) -> str:
    stream = Terminal() if terminal else io.StringIO()
    printer = Printer(form, stream, colour=colour)
    match how:
        case "rows":
            printer.rows(ROWS, COLUMNS)
        case "stream":
            printer.stream(iter(ROWS), COLUMNS)
        case _:
            printer.item(ROWS[0], COLUMNS)
    return stream.getvalue()


TABLE = """\
NAME  COUNT  STATUS  LABELS
ann       7  OK      team=sales
bob    1234  FAIL    -
"""
WIDE = """\
NAME  COUNT  STATUS  LABELS      NOTE
ann       7  OK      team=sales  -
bob    1234  FAIL    -           two\\nlines, and \\x1b[2J
"""


def test_a_table_is_aligned_and_shows_what_is_wide_on_demand() -> None:
    assert printed("rows", Output.TABLE) == TABLE
    assert printed("rows", Output.WIDE) == WIDE
    assert printed("rows", None) == TABLE


def test_a_table_that_grows_keeps_what_was_printed() -> None:
    grown = "NAME  COUNT  STATUS  LABELS\nann       7  OK      team=sales\nbob    1234  FAIL    -\n"
    assert printed("stream", Output.TABLE) == grown


def test_an_object_is_a_line_for_each_field() -> None:
    assert printed("item", None) == "name    ann\ncount   7\nstatus  OK\nlabels  team=sales\n"


def test_an_object_may_bring_its_own_text() -> None:
    stream = io.StringIO()
    Printer(None, stream).item(ROWS[0], text="a tree")
    Printer(Output.NAME, stream).item(ROWS[0], text="a tree")
    assert stream.getvalue() == "a tree\nann\n"


@pytest.mark.parametrize("how", ["rows", "stream"])
def test_programs_read_all_of_each_row(how: str) -> None:
    assert json.loads(printed(how, Output.JSON)) == ROWS
    assert [json.loads(line) for line in printed(how, Output.NDJSON).splitlines()] == ROWS
    assert yaml.safe_load(printed(how, Output.YAML)) == ROWS
    assert list(csv.reader(io.StringIO(printed(how, Output.CSV)))) == [
        ["name", "count", "status", "tags", "note"],
        ["ann", "7", "OK", '{"team":"sales"}', ""],
        ["bob", "1234", "FAIL", "{}", "two\nlines, and \x1b[2J"],
    ]
    assert printed(how, Output.NAME) == "ann\nbob\n"


def test_one_object_is_one_object() -> None:
    assert json.loads(printed("item", Output.JSON)) == ROWS[0]
    assert yaml.safe_load(printed("item", Output.YAML)) == ROWS[0]
    assert json.loads(printed("item", Output.NDJSON)) == ROWS[0]


def test_a_stream_is_lines_of_json_unless_somebody_looks() -> None:
    assert printed("stream", None) == printed("stream", Output.NDJSON)
    assert printed("stream", None, terminal=True) == TABLE


def test_json_has_lines_for_people_only() -> None:
    assert printed("rows", Output.JSON).count("\n") == 1
    assert printed("rows", Output.JSON, terminal=True).count("\n") > len(ROWS)


def test_numbers_that_json_has_not_are_read_by_every_reader() -> None:
    stream = io.StringIO()
    Printer(Output.NDJSON, stream).stream([{"up": float("inf"), "deep": [{"down": -float("inf")}, float("nan")]}], [])
    assert stream.getvalue() == '{"up":1e999,"deep":[{"down":-1e999},null]}\n'
    assert json.loads(stream.getvalue())["up"] == float("inf")


@pytest.mark.parametrize("form", [Output.JSON, Output.NDJSON, Output.YAML])
def test_half_of_a_surrogate_pair_can_be_printed(form: Output) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    Printer(form, stream).rows([{"a": "\ud800é"}], [Column("a")])
    stream.seek(0)
    read = (
        [json.loads(stream.read())] if form is Output.NDJSON else yaml.safe_load(stream.read().replace("\\ud800", "?"))
    )
    assert "é" in str(read)


def test_colours_do_not_move_columns() -> None:
    assert printed("rows", Output.TABLE, colour=True) == TABLE.replace("FAIL", "\x1b[31mFAIL\x1b[0m")


def test_a_stream_that_is_cut_short_is_json_all_the_same() -> None:
    stream = io.StringIO()

    def rows() -> Iterator[Row]:
        yield ROWS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Printer(Output.JSON, stream).stream(rows(), COLUMNS)
    assert json.loads(stream.getvalue()) == [ROWS[0]]


@pytest.mark.parametrize(
    ("form", "text"),
    [(Output.TABLE, ""), (Output.JSON, "[]\n"), (Output.YAML, "[]\n"), (Output.NDJSON, ""), (Output.NAME, "")],
)
def test_nothing_is_an_empty_list_or_nothing(form: Output, text: str) -> None:
    stream = io.StringIO()
    Printer(form, stream).rows([], COLUMNS)
    assert stream.getvalue() == text


def test_wide_characters_take_two_places() -> None:
    stream = io.StringIO()
    Printer(Output.TABLE, stream).rows([{"a": "日本", "b": 1}, {"a": "abcd", "b": 2}], [Column("a"), Column("b")])
    assert stream.getvalue() == "A     B\n日本  1\nabcd  2\n"


@pytest.mark.parametrize(
    "value",
    [
        {"a": [{"b": [1, 2.5, None, True]}, [], {}, [[1], [2, 3]]], "yes": "no", "1": "1.0", "x y": "a: b # c", "": ""},
        ["- a", "null", "~", "2026-11-18", "0x1F", "1e3", "é\u2028\x85", "multi\nline", "=", "<<", "012", "a:", "a #b"],
        {"k": {"deep": {"er": "value"}}},
        [],
        "text",
        float("inf"),
    ],
)
def test_yaml_is_read_back_as_what_it_was(value: object) -> None:
    assert yaml.safe_load("\n".join(yaml_lines(value))) == value

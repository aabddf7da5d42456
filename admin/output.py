"""How data is printed on stdout: the one printer, for every command and every `--output`.

A command says what it has, never how it looks:

    session.out.rows(rows, COLUMNS)      a list that is at hand: rows are mappings of plain values (as JSON has them)
    session.out.stream(rows, COLUMNS)    rows that come one by one, each printed at once
    session.out.item(row, text=...)      one object; `text` is what people read instead of a table of its fields
    COLUMNS = [Column("subscriber"), Column("expression"), Column("tags", wide=True)]

`table` shows the columns, `wide` also those that are marked so, `csv` all of them, `name` the first one alone; `json`,
`yaml` and `ndjson` have the rows as they are, with all of their keys. The rest of what a command needs is its session:

    app = single()                       of `admin.command_line`; or `group("What the commands are about.")`

    @app.command(epilog=...)
    def subscribe(context: typer.Context, subscriber: Annotated[str, typer.Argument(...)]) -> ExitCode | None:
        session = session_of(context)    of `admin.session`
        session.settings                 the configuration, with the global options on top
        session.say("One line.")         talk: on stderr, not with --quiet
        session.confirm("Delete it?")    raises unless the answer is yes; --yes and --no-input are kept
        with session.progress("subscriptions", total) as advance: advance(1)

A command that returns None is done (exit code 0); `ExitCode.NO` says that the answer is no. What goes wrong is raised:
`exit_codes` gives each class of error its code. A module `admin/commands/<name>.py` holds one top-level command as
`app`; a line in `COMMANDS` of `admin/cli.py` makes it known.
"""

import csv
import io
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, TextIO

from tamis.admin.json_text import compact, indented
from tamis.admin.terminal import coloured, shown, width_of
from tamis.admin.yaml import yaml_lines

Row = Mapping[str, Any]
_GAP = "  "


class Output(StrEnum):
    """The forms that data can have."""

    TABLE = "table"
    WIDE = "wide"
    JSON = "json"
    NDJSON = "ndjson"
    YAML = "yaml"
    CSV = "csv"
    NAME = "name"


@dataclass(frozen=True)
class Column:
    """One key of the rows, as people see it."""

    key: str
    title: str = ""
    """By default the key."""
    wide: bool = False
    """Whether only `wide` shows it."""
    right: bool = False
    """Whether it is aligned to the right, as numbers are."""
    colours: Mapping[str, str] = field(default_factory=dict[str, str])
    """Of some values, on a terminal."""

    @property
    def heading(self) -> str:
        return (self.title or self.key.replace("_", " ")).upper()


class Printer:
    """Prints on `stream` in the form that was asked for, or in the one that suits who reads."""

    def __init__(self, asked: Output | None = None, stream: TextIO | None = None, *, colour: bool = False) -> None:
        self._asked = asked
        self._stream = sys.stdout if stream is None else stream
        self._colour = colour

    @property
    def is_terminal(self) -> bool:
        return self._stream.isatty()

    def rows(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        """A list that is at hand. An empty one is an empty list, or nothing."""
        match self._asked or Output.TABLE:
            case Output.TABLE | Output.WIDE as form:
                self._table(list(rows), _visible(columns, form))
            case Output.JSON:
                self._line(self._json(list(rows)))
            case Output.YAML:
                self._lines(yaml_lines(list(rows)))
            case form:
                self._one_by_one(rows, columns, form)

    def stream(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        """Rows that come one by one; each is printed when it is there. As NDJSON if nobody looks."""
        self._one_by_one(rows, columns, self._asked or (Output.TABLE if self.is_terminal else Output.NDJSON))

    def item(self, row: Row, columns: Sequence[Column] = (), *, text: str | None = None) -> None:
        """One object. As a table: `text` if there is one, else its fields, one a line."""
        columns = columns or [Column(key) for key in row]
        match self._asked or Output.TABLE:
            case Output.TABLE | Output.WIDE if text is not None:
                self._line(text)
            case Output.TABLE | Output.WIDE as form:
                self._fields(row, _visible(columns, form))
            case Output.JSON:
                self._line(self._json(row))
            case Output.YAML:
                self._lines(yaml_lines(row))
            case form:
                self._one_by_one([row], columns, form)

    def _table(self, rows: Sequence[Row], columns: Sequence[Column]) -> None:
        if not rows:
            return
        cells = [[_cell(row.get(column.key)) for column in columns] for row in rows]
        widths = [
            max(width_of(column.heading), *(width_of(line[place]) for line in cells))
            for place, column in enumerate(columns)
        ]
        self._line(self._heading(columns, widths))
        for line in cells:
            self._line(self._aligned(line, columns, widths))

    def _one_by_one(self, rows: Iterable[Row], columns: Sequence[Column], form: Output) -> None:
        match form:
            case Output.TABLE | Output.WIDE:
                self._growing_table(rows, _visible(columns, form))
            case Output.JSON:
                self._growing_array(rows)
            case Output.NDJSON:
                for row in rows:
                    self._line(compact(row))
            case Output.YAML:
                for row in rows:
                    self._lines(yaml_lines([row]))
            case Output.CSV:
                self._csv(rows, columns)
            case Output.NAME:
                for row in rows:
                    self._line(shown(_plain(row.get(columns[0].key))))

    def _csv(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        self._line(_csv_line([column.key for column in columns]))
        for row in rows:
            self._line(_csv_line([_plain(row.get(column.key)) for column in columns]))

    def _growing_table(self, rows: Iterable[Row], columns: Sequence[Column]) -> None:
        """Columns are as wide as the widest value so far: what was printed cannot be moved."""
        widths = [width_of(column.heading) for column in columns]
        headed = False
        for row in rows:
            cells = [_cell(row.get(column.key)) for column in columns]
            widths = [max(width, width_of(cell)) for width, cell in zip(widths, cells, strict=True)]
            if not headed:
                self._line(self._heading(columns, widths))
                headed = True
            self._line(self._aligned(cells, columns, widths))

    def _growing_array(self, rows: Iterable[Row]) -> None:
        """Whole also when it is cut short, so that a stopped stream is still JSON."""
        before = "["
        try:
            for row in rows:
                self._write(f"{before}\n{compact(row)}")
                before = ","
        finally:
            self._line("[]" if before == "[" else "\n]")

    def _fields(self, row: Row, columns: Sequence[Column]) -> None:
        width = max((width_of(column.heading) for column in columns), default=0)
        for column in columns:
            cell = _cell(row.get(column.key))
            name = (column.title or column.key).ljust(width)
            self._line(f"{name}{_GAP}{self._painted(cell, column)}")

    def _heading(self, columns: Sequence[Column], widths: Sequence[int]) -> str:
        return self._aligned([column.heading for column in columns], columns, widths)

    def _aligned(self, cells: Sequence[str], columns: Sequence[Column], widths: Sequence[int]) -> str:
        padded: list[str] = []
        for cell, column, width in zip(cells, columns, widths, strict=True):
            space = " " * (width - width_of(cell))
            painted = self._painted(cell, column)
            padded.append(space + painted if column.right else painted + space)
        return _GAP.join(padded).rstrip()

    def _painted(self, cell: str, column: Column) -> str:
        colour = column.colours.get(cell)
        return coloured(cell, colour) if self._colour and colour else cell

    def _json(self, value: Any) -> str:
        """On several lines for people, on one for programs."""
        return indented(value) if self.is_terminal else compact(value)

    def _lines(self, lines: Iterable[str]) -> None:
        self._line("\n".join(lines))

    def _line(self, line: str) -> None:
        """Flushed at once: whoever waits for a line has it, and nothing is lost if the next one takes a while."""
        self._write(line + "\n")

    def _write(self, text: str) -> None:
        """What the stream's encoding has not is escaped: half of a surrogate pair, above all."""
        try:
            self._stream.write(text)
        except UnicodeEncodeError:
            encoding = self._stream.encoding or "ascii"
            self._stream.write(text.encode(encoding, "backslashreplace").decode(encoding))
        self._stream.flush()


def _visible(columns: Sequence[Column], form: Output) -> list[Column]:
    return [column for column in columns if form is Output.WIDE or not column.wide]


def _csv_line(values: Sequence[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(values)
    return line.getvalue()


def _cell(value: Any) -> str:
    """As people read it: on one line, and nothing in it steers the terminal."""
    match value:
        case None | "":
            return "-"
        case bool():
            return "yes" if value else "no"
        case Mapping():
            return ", ".join(f"{shown(str(key))}={_cell(of_key)}" for key, of_key in value.items()) or "-"
        case list() | tuple():
            return ", ".join(map(_cell, value)) or "-"
        case _:
            return shown(str(value))


def _plain(value: Any) -> str:
    """As programs read it: text as it is, nothing for None, and JSON for what is neither text nor number."""
    if value is None:
        return ""
    return value if isinstance(value, str) else compact(value)

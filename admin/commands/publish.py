"""`tamis publish`: send events."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.errors import UsageError
from tamis.admin.exit_codes import ExitCode
from tamis.admin.lines import WrongLines, lines_in, listening, opened
from tamis.admin.options import Timeout
from tamis.admin.session import session_of

if TYPE_CHECKING:
    from tamis.broker.publishing import Lines

app = single()


@app.command(
    epilog="""\b
Examples:
  tamis publish --attr price=450 --attr region=eu
  tamis publish --attr price=450 --count 1000 --rate 50    the same thing, 50 times a second
  tamis publish -f events.ndjson --topic orders
  generate | tamis publish -f -
\b
A line of a file: {"attributes": {"price": 450, "region": "eu"}, "id": "7", "time": "2026-11-18T08:00:00Z"}
Also, if you like, "weights": {"price": 0.5} for scores, and "key": the record's key. What has no id gets a random one,
what has no time the time that it is.
"""
)
def publish(
    context: typer.Context,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="NDJSON with an event a line; - is standard input.")
    ] = None,
    attributes: Annotated[
        list[str] | None,
        typer.Option(
            "--attr",
            metavar="NAME=VALUE",
            help='An attribute of one event: 5, 1.5, true, "text", else a string; repeatable.',
        ),
    ] = None,
    key: Annotated[str | None, typer.Option(help="The record's key, with --attr.")] = None,
    topic: Annotated[str | None, typer.Option(help="Default: the event topic, where there is one only.")] = None,
    rate: Annotated[float | None, typer.Option(min=0.001, help="So many a second, at most.")] = None,
    count: Annotated[
        int | None, typer.Option("--count", "-n", min=0, help="So many: of a file at most, of --attr exactly.")
    ] = None,
    timeout: Timeout = 30.0,
) -> ExitCode | None:
    """Publish events, and wait until Kafka has acknowledged each of them."""
    from tamis.broker.publishing import default_topic, paced
    from tamis.broker.publishing import publish as published

    session = session_of(context)
    if file is not None and (attributes or key is not None):
        raise UsageError("-f says what to publish; --attr and --key do too. Choose one.")
    if file is None and not attributes:
        if sys.stdin.isatty():
            raise UsageError("Say what to publish: --attr NAME=VALUE, or -f FILE.")
        file = Path("-")
    target = topic or default_topic(session.settings, timeout)
    began = time.monotonic()
    wrong = WrongLines()
    total = count if file is None else lines_in(file)
    with _events(file, attributes or [], key, count) as events, listening(session, "events", total, wrong) as listener:
        report = published(session.settings, target, paced(events, rate) if rate else events, listener, timeout)
    row = {
        "topic": target,
        "published": report.acknowledged,
        "wrong": report.wrong,
        "seconds": round(time.monotonic() - began, 3),
        "errors": wrong.kept,
    }
    told = f", {report.wrong} wrong" if report.wrong else ""
    session.out.item(row, text=f"{report.acknowledged} published to {target}{told}")
    return ExitCode.INVALID if report.wrong else None


@contextmanager
def _events(file: Path | None, attributes: list[str], key: str | None, count: int | None) -> Iterator["Lines"]:
    from tamis.broker.json_lines import numbered_lines
    from tamis.broker.publishing import outgoing_lines

    if file is None:
        yield _repeated(attributes, key, 1 if count is None else count)
        return
    with opened(file) as source:
        yield islice(outgoing_lines(numbered_lines(source)), count)


def _repeated(settings: list[str], key: str | None, count: int) -> "Lines":
    """Each is an event of its own, with another id and time."""
    from tamis.broker.errors import InvalidError
    from tamis.broker.event_lines import attributes_of, outgoing_of_attributes
    from tamis.broker.json_lines import LineError

    try:
        attributes = attributes_of(settings)
    except InvalidError as error:
        raise UsageError(f"--attr: {error}") from error
    try:
        for number in range(1, count + 1):
            yield number, outgoing_of_attributes(attributes, key)
    except LineError as error:
        raise InvalidError(f"The event cannot be taken: {error}.") from error

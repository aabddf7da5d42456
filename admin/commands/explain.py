"""`tamis explain`: why an expression matches an event, or why not."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from tamis.admin.command_line import single
from tamis.admin.exit_codes import ExitCode
from tamis.admin.lines import opened
from tamis.admin.session import session_of

app = single()

_WORDS = {True: "match", False: "no match", None: "no match: the event leaves it open"}


@app.command(
    epilog="""\b
Examples:
  tamis explain --expression 'price < 500 and region = "eu"' '{"price": 450, "region": "us"}'
  tamis explain --expression 'price < 500' @event.json && echo yes
  tail -1 events.ndjson | tamis explain --expression 'price < 500' -
"""
)
def explain(
    context: typer.Context,
    event: Annotated[
        str,
        typer.Argument(
            metavar="EVENT", help="A JSON object, @FILE with one a line, or - for standard input.", show_default=False
        ),
    ],
    expression: Annotated[str, typer.Option("--expression", "-e", help="What the event is to satisfy.")],
) -> ExitCode:
    """Tell clause by clause what an expression comes to on an event. Needs no Kafka.

    An event is written as its attributes, or as `tamis publish` takes it. The exit code is 0 if one matches, else 1.
    """
    from tamis.broker.explaining import as_json, decoded_event, explained, parsed

    session = session_of(context)
    wanted = parsed(expression)
    matched = False
    for text in _events(event):
        found = explained(wanted, decoded_event(text, session.settings.names.events))
        matched |= found.matches
        verdict = found.explanation.verdict
        row: dict[str, Any] = {
            "id": found.event.get("$id"),
            "matches": found.matches,
            "verdict": verdict,
            "explanation": as_json(found.explanation),
        }
        session.out.item(row, text=f"{found.explanation}\n{_WORDS[verdict]}")
    return ExitCode.YES if matched else ExitCode.NO


def _events(given: str) -> Iterator[bytes]:
    if given != "-" and not given.startswith("@"):
        yield given.encode(errors="surrogateescape")
        return
    from tamis.broker.json_lines import numbered_lines

    with opened(Path(given.removeprefix("@"))) as source:
        for _, text in numbered_lines(source):
            yield text

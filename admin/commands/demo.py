"""`tamis demo`: see it work."""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from textwrap import fill
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.exit_codes import ExitCode
from tamis.admin.session import Session, session_of

if TYPE_CHECKING:
    from tamis.admin.demo.stage import Stage

app = single()


@app.command(
    epilog="""\b
Examples:
  tamis demo                          about a minute, with the servers' start
  tamis demo --seconds 10 --events 5000
  tamis demo --quiet -o json | jq .burst
"""
)
def demo(
    context: typer.Context,
    seconds: Annotated[
        float, typer.Option(min=4, max=30, metavar="N", help="How long offers come at a human pace.")
    ] = 24.0,
    events: Annotated[
        int, typer.Option(min=1, max=200_000, metavar="N", help="How many the burst has that is measured.")
    ] = 30_000,
    no_color: Annotated[bool, typer.Option("--no-color", help="As if NO_COLOR was set.")] = False,
) -> ExitCode:
    """Watch a shop's offers reach the people who want them, on a real Kafka that goes away with this command.

    Somebody subscribes and somebody unsubscribes meanwhile, and the broker is killed with -9 and started again. Then a
    burst of events is measured, and all that was delivered is compared with what should have been. Exit code 0 if
    nothing was lost, doubled or wrong, else 1.

    Needs what `tamis dev` needs.
    """
    from tamis.admin.demo.performance import Plan, play

    session = session_of(context)
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        summary = play(Plan(seconds, events), _stage(session, no_color=no_color), session.say)
    except KeyboardInterrupt:
        session.say("Interrupted; the servers are stopped and all data is removed.")
        raise
    session.out.item(summary.row, text=summary.text)
    return ExitCode.YES if summary.verdict.is_clean else ExitCode.NO


@contextmanager
def _stage(session: Session, *, no_color: bool) -> Iterator["Stage"]:
    """On stderr, since it is talk; the summary alone is data."""
    if session.options.quiet:
        from tamis.admin.demo.stage import Nobody

        yield Nobody()
    elif sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        from tamis.admin.demo.screen import Screen

        with Screen(colour=not no_color) as screen:
            yield screen
        for at, text in screen.story:
            session.say(f"{at:5.1f} s  {fill(text, 70, subsequent_indent=' ' * 9)}")
        session.say("")
    else:
        from tamis.admin.demo.lines import Lines

        yield Lines(session.say)
        session.say("")

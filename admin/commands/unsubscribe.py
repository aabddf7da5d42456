"""`tamis unsubscribe`: take subscriptions back."""

from typing import Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.options import DryRun, Timeout
from tamis.admin.session import session_of
from tamis.admin.subscriptions import BRIEF, chosen, row_of, written

app = single()


@app.command(
    epilog="""\b
Examples:
  tamis unsubscribe ann/cheap            one subscription
  tamis unsubscribe ann bob --yes        all of two subscribers, unasked
  tamis unsubscribe ann --dry-run        which would that be?
"""
)
def unsubscribe(
    context: typer.Context,
    names: Annotated[
        list[str], typer.Argument(metavar="SUBSCRIBER[/NAME]", help="A subscription, or all of a subscriber.")
    ],
    dry_run: DryRun = False,
    timeout: Timeout = 30.0,
) -> None:
    """Take subscriptions back: no event that is published from then on is matched against them.

    The subscriber's topic stays, with what is in it.
    """
    session = session_of(context)
    layout, found = chosen(session, names, timeout)
    if not dry_run:
        owners = len({one.subscriber for one in found})
        what = f"{found[0].subscriber}/{found[0].name}" if len(found) == 1 else f"{len(found)} subscriptions"
        session.confirm(f"Take back {what}{f' of {owners} subscribers' if owners > 1 else ''}?")
        written(session, layout, found, lambda writer, one: writer.remove(one), timeout)
    session.out.rows([row_of(one) for one in found], BRIEF)
    session.say(f"{len(found)} would be taken back." if dry_run else f"{len(found)} taken back.")

"""`tamis subscriptions`: what there is, pausing and resuming."""

from enum import StrEnum
from typing import Annotated

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.options import DryRun, Timeout
from tamis.admin.session import session_of
from tamis.admin.subscriptions import BRIEF, COLUMNS, chosen, row_of, written

app = group("See subscriptions, pause and resume them.")

Names = Annotated[
    list[str], typer.Argument(metavar="SUBSCRIBER[/NAME]", help="A subscription, or all of a subscriber.")
]


class State(StrEnum):
    """As `--state` has it."""

    ACTIVE = "active"
    PAUSED = "paused"
    INVALID = "invalid"


@app.command(
    name="list",
    epilog="""\b
Examples:
  tamis subscriptions list                         all there are
  tamis subscriptions list ann -o wide             one subscriber's, with tags and places
  tamis subscriptions list --state invalid         what is in the topic, matches nothing, and why
  tamis subs list -o ndjson | jq -r .expression
""",
)
def list_(
    context: typer.Context,
    subscriber: Annotated[str | None, typer.Argument(metavar="SUBSCRIBER", help="Whose; default: everybody's.")] = None,
    state: Annotated[State | None, typer.Option(help="Only those in this state.")] = None,
    timeout: Timeout = 30.0,
) -> ExitCode | None:
    """List subscriptions as the broker has them: the last record of each name."""
    from tamis.broker.layouts import require_layout
    from tamis.broker.subscription_list import subscriptions

    session = session_of(context)
    layout = require_layout(session.settings, timeout)
    session.out.rows(
        (
            row_of(one)
            for one in subscriptions(session.settings, layout, subscriber)
            if state is None or state.value == one.state
        ),
        COLUMNS,
    )
    return None


@app.command(
    epilog="""\b
Examples:
  tamis subscriptions show ann/cheap
  tamis subscriptions show ann -o json
"""
)
def show(context: typer.Context, names: Names, timeout: Timeout = 30.0) -> None:
    """Show subscriptions with all there is to tell, invalid ones with the whole reason."""
    session = session_of(context)
    _, found = chosen(session, names, timeout)
    for one in found:
        session.out.item({**row_of(one), "reason": one.reason})


@app.command(
    epilog="""\b
Examples:
  tamis subscriptions pause ann/cheap --reason "matches everything"
"""
)
def pause(
    context: typer.Context,
    names: Names,
    reason: Annotated[str, typer.Option(help="Why; it is kept with the subscription.")] = "paused by hand",
    dry_run: DryRun = False,
    timeout: Timeout = 30.0,
) -> None:
    """Let subscriptions match nothing until they are resumed."""
    _change(context, names, reason, dry_run, timeout)


@app.command(
    epilog="""\b
Examples:
  tamis subscriptions resume ann/cheap
"""
)
def resume(context: typer.Context, names: Names, dry_run: DryRun = False, timeout: Timeout = 30.0) -> None:
    """Put paused subscriptions in force again; the others are left as they are."""
    _change(context, names, None, dry_run, timeout)


def _change(context: typer.Context, names: list[str], reason: str | None, dry_run: bool, timeout: float) -> None:
    from tamis.broker.errors import InvalidError

    session = session_of(context)
    layout, found = chosen(session, names, timeout)
    changed = [one for one in found if one.subscription is not None and one.subscription.paused != reason]
    unreadable = [one for one in found if one.subscription is None]
    if unreadable:
        one = unreadable[0]
        raise InvalidError(f"{one.subscriber}/{one.name} is no subscription, so nothing was changed: {one.reason}.")
    if changed and not dry_run:
        written(session, layout, changed, lambda writer, one: writer.pause(one, reason), timeout)
    rows = [{**row_of(one), "state": (State.ACTIVE if reason is None else State.PAUSED).value} for one in changed]
    session.out.rows(rows, BRIEF)
    done = "resumed" if reason is None else "paused"
    session.say(f"{len(changed)} {'would be ' if dry_run else ''}{done}, {len(found) - len(changed)} were already.")

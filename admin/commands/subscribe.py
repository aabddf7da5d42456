"""`tamis subscribe`: one subscription, or a file of them."""

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.errors import UsageError
from tamis.admin.exit_codes import ExitCode
from tamis.admin.lines import WrongLines, lines_in, listening, opened, pairs_of
from tamis.admin.options import Timeout
from tamis.admin.session import Session, session_of

if TYPE_CHECKING:
    from tamis.codecs.layout import Layout
    from tamis.codecs.subscription import Subscription

app = single()


@app.command(
    epilog="""\b
Examples:
  tamis subscribe ann 'price < 500 and region in ("eu", "uk")'
  tamis subscribe ann 'price < 500' --name cheap --tag team=sales --scores
  tamis subscribe ann 'price betwen 1 and 5' --dry-run     is it an expression?
  tamis subscribe -f subscriptions.ndjson                  many at once
\b
A line of a file: {"subscriber": "ann", "name": "cheap", "expression": "price < 500", "tags": {"team": "sales"}}
"""
)
def subscribe(
    context: typer.Context,
    subscriber: Annotated[
        str | None, typer.Argument(metavar="SUBSCRIBER", help="Who gets the matching events.")
    ] = None,
    expression: Annotated[str | None, typer.Argument(metavar="EXPRESSION", help="What an event must satisfy.")] = None,
    file: Annotated[
        Path | None, typer.Option("--file", "-f", help="NDJSON with a subscription a line; - is standard input.")
    ] = None,
    name: Annotated[str | None, typer.Option(help="Of the subscription; default: a digest of the expression.")] = None,
    tags: Annotated[
        list[str] | None, typer.Option("--tag", metavar="NAME=VALUE", help="Handed back with each match; repeatable.")
    ] = None,
    scores: Annotated[
        bool, typer.Option("--scores", help="Matches tell how much of the expression they fulfil.")
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Check everything, and write nothing.")] = False,
    timeout: Timeout = 30.0,
) -> ExitCode | None:
    """Subscribe to the events that satisfy an expression.

    A subscription of the same name is replaced; subscribing again changes nothing. What Kafka has acknowledged is
    matched from the next event on.
    """
    from tamis.broker.layouts import require_layout

    session = session_of(context)
    if file is None:
        if subscriber is None or expression is None:
            raise UsageError("Say SUBSCRIBER and EXPRESSION, or -f FILE.")
        layout = require_layout(session.settings, timeout)
        _subscribe_one(
            session, layout, _one(layout, subscriber, expression, name, tags or [], scores), dry_run, timeout
        )
        return None
    if subscriber is not None or name is not None or tags or scores:
        raise UsageError(
            "With -f, the file says who subscribes to what: give no other arguments, and no --name, --tag or --scores."
        )
    return _subscribe_file(session, require_layout(session.settings, timeout), file, dry_run, timeout)


def _one(
    layout: "Layout", subscriber: str, expression: str, name: str | None, tags: list[str], scores: bool
) -> "Subscription":
    from tamis.broker.subscribing import new_subscription

    return replace(new_subscription(layout, subscriber, expression, name), tags=pairs_of(tags, "--tag"), scores=scores)


def _subscribe_one(session: Session, layout: "Layout", one: "Subscription", dry_run: bool, timeout: float) -> None:
    from tamis.broker.errors import InvalidError
    from tamis.broker.quotas import Quota
    from tamis.broker.subscribing import SubscriptionWriter

    topic = session.settings.names.notifications(one.subscriber)
    reason = Quota(session.settings, layout).refusal(one)
    refused = [] if reason is None else [reason]
    if not dry_run and not refused:
        with SubscriptionWriter(
            session.settings, layout, lambda _line, reason: refused.append(reason), timeout
        ) as writer:
            writer.put_one(one)
            writer.wait()
    if refused:
        raise InvalidError(f"The subscription cannot be taken: {refused[0]}.")
    row = {
        "subscriber": one.subscriber,
        "name": one.name,
        "expression": one.expression,
        "tags": dict(one.tags),
        "scores": one.scores,
        "topic": topic,
    }
    session.out.item(row, text=f"{one.subscriber}/{one.name}")
    session.say("It is a subscription; nothing was written." if dry_run else f"Its notifications will be in {topic}.")


def _subscribe_file(session: Session, layout: "Layout", file: Path, dry_run: bool, timeout: float) -> ExitCode | None:
    from tamis.broker.json_lines import numbered_lines
    from tamis.broker.subscribing import check_lines, subscribe_lines

    began = time.monotonic()
    wrong = WrongLines()
    with opened(file) as source, listening(session, "subscriptions", lines_in(file), wrong) as listener:
        lines = numbered_lines(source)
        if dry_run:
            report = check_lines(session.settings, layout, lines, listener)
        else:
            report = subscribe_lines(session.settings, layout, lines, listener, timeout)
    row = {
        "lines": report.lines,
        "subscribed": 0 if dry_run else report.acknowledged,
        "right": report.lines - report.wrong,
        "wrong": report.wrong,
        "seconds": round(time.monotonic() - began, 3),
        "errors": wrong.kept,
    }
    told = "right, nothing was written" if dry_run else "subscribed"
    session.out.item(row, text=f"{report.acknowledged} {told}, {report.wrong} wrong")
    return ExitCode.INVALID if report.wrong else None

"""`tamis rejected`: input that was not understood."""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.moments import kafka_moment
from tamis.admin.options import Count, DryRun, From, Patience, Timeout, To, answer_seconds, extent
from tamis.admin.output import Column
from tamis.admin.session import Session, say, session_of

if TYPE_CHECKING:
    from tamis.broker.received import ReceivedRejection
    from tamis.broker.rejected_retry import RetryReport, Wanted

app = group("See the input that was not understood, and send events of it once more.")

_COLUMNS = [
    Column("time"),
    Column("reason"),
    Column("topic"),
    Column("partition", right=True),
    Column("offset", right=True),
    Column("detail"),
    Column("key", wide=True),
    Column("value", wide=True),
]
_RETRIED = [
    Column("topic"),
    Column("reason"),
    Column("sent", right=True),
    Column("left", right=True),
    Column("why"),
]


@app.command(
    epilog="""\b
Examples:
  tamis rejected tail                                   what comes from now on, until Ctrl-C
  tamis rejected tail --from -1d --to end -o wide       a day's, with what came
  tamis rejected tail --from start --to end | jq -r .reason | sort | uniq -c
"""
)
def tail(
    context: typer.Context, start: From = None, end: To = None, count: Count = None, timeout: Patience = None
) -> ExitCode | None:
    """Follow rejected events and subscriptions: where each was, and why it could not be taken."""
    from tamis.broker.received import rejection_of
    from tamis.broker.settling import settled_by
    from tamis.broker.tailing import tail as tailed

    session = session_of(context)
    settings = session.settings
    asked = extent(start, end, count, timeout)
    shown = 0

    def rows() -> Iterator[Mapping[str, Any]]:
        nonlocal shown
        for messages in tailed(settings.kafka, settings.names.rejected, asked, answer_seconds(asked)):
            for message in messages:
                if settled_by(message) is None:
                    shown += 1
                    yield _row(rejection_of(message))

    session.out.stream(rows(), _COLUMNS)
    return ExitCode.NO if timeout is not None and shown < (count or 0) else None


@app.command(
    epilog="""\b
Examples:
  tamis rejected retry --dry-run                        what would be sent, and what cannot be, and why
  tamis rejected retry --reason unknown_schema          once the configuration or the registry has it
  tamis rejected retry --topic tamis.events --yes       of one topic, unasked
"""
)
def retry(
    context: typer.Context,
    topics: Annotated[
        list[str] | None, typer.Option("--topic", metavar="TOPIC", help="What came in it; default: in any.")
    ] = None,
    reasons: Annotated[
        list[str] | None,
        typer.Option("--reason", metavar="R", help="What was rejected for it; default: for any but poison."),
    ] = None,
    dry_run: DryRun = False,
    timeout: Timeout = 30.0,
) -> ExitCode | None:
    """Send rejected events once more, each exactly once. Exit code 1 if some of them cannot be sent.

    They come to the partitions that they came from, behind what was sent meanwhile, with the header tamis-retried. What
    is still not understood is rejected anew. It may be stopped and run again at any time.
    """
    from tamis.broker.rejected_retry import RetryReport, Wanted, rehearse

    session = session_of(context)
    wanted = Wanted(frozenset(topics or ()), frozenset(reasons or ()))
    report = rehearse(session.settings, wanted, timeout)
    waiting = report.sent.total()
    if (waiting or report.repeated) and not dry_run:
        if waiting:
            session.confirm(f"Send {waiting:,} event{'' if waiting == 1 else 's'} once more?")
        report = RetryReport()
        _retry(session, wanted, report, waiting)
    session.out.rows(_told(report), _RETRIED)
    left = sum(count.total() for count in report.left.values())
    if report.repeated:
        session.say(f"{report.repeated} that another shard had rejected, too, are sent with its rejection, once.")
    if not report.sent and not left:
        session.say("Nothing waits.")
    else:
        told = f", {left} cannot be" if left else ""
        session.say(f"{report.sent.total()} {'would be ' if dry_run else ''}sent{told}.")
    return ExitCode.NO if left else None


def _retry(session: Session, wanted: "Wanted", report: "RetryReport", total: int) -> None:
    """Also if it ends in the middle it tells how far it came."""
    from tamis.broker.rejected_retry import retry as retried

    try:
        with session.progress("events", total) as advance:
            retried(session.settings, wanted, report, advance)
    except KeyboardInterrupt:
        say(f"Interrupted. {report.sent.total()} of {total} were sent; the others wait on.")
        raise
    except Exception as error:
        error.add_note(f"{report.sent.total()} of {total} were sent before. Run it again: none is sent twice.")
        raise


def _told(report: "RetryReport") -> list[Mapping[str, Any]]:
    return [
        {
            "topic": topic,
            "reason": reason,
            "sent": report.sent[topic, reason],
            "left": report.left.get((topic, reason), Counter()).total(),
            "why": dict(report.left.get((topic, reason), {})) or None,
        }
        for topic, reason in sorted({*report.sent, *report.left})
    ]


def _row(received: "ReceivedRejection") -> Mapping[str, Any]:
    from tamis.broker.received import text_of

    it = received.rejection
    source: dict[str, Any] = {"reason": "unreadable", "detail": received.problem}
    if it is not None:
        source = {
            "reason": it.reason,
            "topic": it.topic,
            "partition": it.partition,
            "offset": it.offset,
            "detail": it.detail,
        }
    return {
        "time": kafka_moment(received.timestamp),
        **source,
        "key": text_of(received.key),
        "value": text_of(received.value),
        "rejected": {"partition": received.partition, "offset": received.offset},
    }

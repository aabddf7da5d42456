"""`tamis undelivered`: notifications that their subscribers' topics did not take."""

from collections.abc import Iterable, Mapping
from itertools import islice, starmap
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.moments import kafka_moment, moment
from tamis.admin.options import PLACES, DryRun, Timeout, extent
from tamis.admin.output import Column
from tamis.admin.session import Session, say, session_of

if TYPE_CHECKING:
    from tamis.broker.undelivered import ReceivedUndelivered
    from tamis.broker.undelivered_retry import RetryReport, Wanted

app = group("See the notifications that a subscriber's topic did not take, and send them after all.")

_STATES = {"waiting": "yellow", "retried": "green"}
_LISTED = [
    Column("time"),
    Column("subscriber"),
    Column("state", colours=_STATES),
    Column("reason"),
    Column("id"),
    Column("matched"),
    Column("topic", wide=True),
    Column("partition", wide=True, right=True),
    Column("offset", wide=True, right=True),
    Column("detail"),
    Column("undelivered", wide=True),
]
_SUMMED = [
    Column("subscriber"),
    Column("reason"),
    Column("waiting", right=True),
    Column("retried", right=True),
    Column("first"),
    Column("last"),
]
_RETRIED = [
    Column("subscriber"),
    Column("sent", right=True),
    Column("left", right=True),
    Column("reasons"),
    Column("detail"),
]

Subscribers = Annotated[list[str] | None, typer.Argument(metavar="SUBSCRIBER", help="Whose; default: everybody's.")]


@app.command(
    name="list",
    epilog="""\b
Examples:
  tamis undelivered list                        what waits, oldest first
  tamis undelivered list --summary              how many, by subscriber and reason
  tamis undelivered list ann --from -1d -o wide
  tamis undelivered list --all -o ndjson | jq -r .id
""",
)
def list_(
    context: typer.Context,
    subscribers: Subscribers = None,
    start: Annotated[
        str | None, typer.Option("--from", metavar="PLACE", help=f"Where to begin: {PLACES}; default: start.")
    ] = None,
    end: Annotated[
        str | None, typer.Option("--to", metavar="PLACE", help="Where to end, exclusive; default: end.")
    ] = None,
    count: Annotated[int | None, typer.Option("-n", "--count", min=0, help="So many at most.")] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also what was sent after all.")] = False,
    summary: Annotated[bool, typer.Option("--summary", help="Only how many, by subscriber and reason.")] = False,
    timeout: Timeout = 30.0,
) -> None:
    """List the notifications that wait: why, for whom, of which event, and which subscriptions matched.

    By default from the start to what is there now; places are those of the topic of undelivered notifications.
    """
    from tamis.broker.undelivered import listed

    session = session_of(context)
    asked = extent(start, end or "end", None, None)
    found = listed(session.settings, asked, _checked(subscribers), timeout)
    chosen = islice(((one, waits) for one, waits in found if waits or everything), count)
    rows = _summed(chosen) if summary else starmap(_row, chosen)
    session.out.rows(rows, _SUMMED if summary else _LISTED)


@app.command(
    epilog="""\b
Examples:
  tamis undelivered retry --dry-run             what would be sent, and what would not, and why
  tamis undelivered retry ann bob               two subscribers' notifications
  tamis undelivered retry --yes                 everybody's, unasked
  tamis undelivered retry ann --make-topics     also if ann's topic is gone: it is made again, empty
"""
)
def retry(
    context: typer.Context,
    subscribers: Subscribers = None,
    make_topics: Annotated[
        bool,
        typer.Option("--make-topics", help="Make topics again that are missing; else what they were to get waits on."),
    ] = False,
    dry_run: DryRun = False,
    timeout: Timeout = 30.0,
) -> ExitCode | None:
    """Send the notifications that wait, each exactly once. Exit code 1 if some of them wait on.

    They come behind what was sent meanwhile, in the order in which they waited, with the header tamis-retried. What a
    topic still cannot take stays where it is, and the others go on. It may be stopped and run again at any time.
    """
    from tamis.broker.undelivered import waiting_counts
    from tamis.broker.undelivered_retry import RetryReport, Wanted, rehearse

    session = session_of(context)
    wanted = Wanted(_checked(subscribers), make_topics)
    if dry_run:
        report = rehearse(session.settings, wanted, timeout)
    else:
        report = RetryReport()
        waiting = waiting_counts(session.settings, wanted.subscribers, timeout)
        if waiting:
            what = f"{_many(waiting.total(), 'notification')} to {_many(len(waiting), 'subscriber')}"
            session.confirm(f"Send {what}?")
            _retry(session, wanted, report, waiting.total())
    session.out.rows(_told(report), _RETRIED)
    _say(session, report, dry_run=dry_run)
    return ExitCode.NO if report.left else None


def _retry(session: Session, wanted: "Wanted", report: "RetryReport", total: int) -> None:
    """Also if it ends in the middle it tells how far it came."""
    from tamis.broker.undelivered_retry import retry as retried

    try:
        with session.progress("notifications", total) as advance:
            retried(session.settings, wanted, report, advance)
    except KeyboardInterrupt:
        say(f"Interrupted. {report.sent.total()} or more of {total} were sent; the others wait on.")
        raise
    except Exception as error:
        error.add_note(f"{report.sent.total()} of {total} were sent before.")
        raise


def _checked(subscribers: list[str] | None) -> frozenset[str]:
    from tamis.broker.errors import InvalidError
    from tamis.codecs.errors import RecordError
    from tamis.codecs.subscription import check_subscriber

    try:
        for subscriber in subscribers or ():
            check_subscriber(subscriber)
    except RecordError as error:
        raise InvalidError(f"{error}.") from error
    return frozenset(subscribers or ())


def _row(received: "ReceivedUndelivered", waits: bool) -> Mapping[str, Any]:
    from tamis.broker.received import content_of
    from tamis.broker.undelivered_ready import UNREADABLE

    it, problem = received.undelivered, received.problem
    notification = None
    if it is not None:
        content = content_of(it.notification)
        notification, problem = content.notification, content.problem
    row: dict[str, Any] = {
        "time": kafka_moment(received.timestamp),
        "subscriber": received.subscriber,
        "state": "waiting" if waits else "retried",
        "reason": UNREADABLE if it is None else it.reason,
        "detail": problem if it is None else it.detail,
    }
    if notification is not None:
        row |= {
            "id": notification.id,
            "event_time": moment(notification.time),
            "matched": [match.name for match in notification.matches],
            "topic": notification.topic,
            "partition": notification.partition,
            "offset": notification.offset,
        }
    if it is not None:
        row |= {"bytes": len(it.notification), "whole": it.whole}
    if problem is not None:
        row["problem"] = problem
    return row | {"undelivered": {"partition": received.place.partition, "offset": received.place.offset}}


def _summed(found: Iterable[tuple["ReceivedUndelivered", bool]]) -> list[Mapping[str, Any]]:
    """In the order of subscribers and reasons."""
    sums: dict[tuple[str, str], dict[str, Any]] = {}
    for received, waits in found:
        row = _row(received, waits)
        key = (row["subscriber"], row["reason"])
        start = {"subscriber": key[0], "reason": key[1], "waiting": 0, "retried": 0, "first": row["time"]}
        total = sums.setdefault(key, start)
        total[row["state"]] += 1
        total["last"] = row["time"]
    return [sums[key] for key in sorted(sums)]


def _told(report: "RetryReport") -> list[Mapping[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    for subscriber in sorted({*report.sent, *(subscriber for subscriber, _ in report.left)}):
        sent = report.sent[subscriber]
        rows[subscriber] = {"subscriber": subscriber, "sent": sent, "left": 0, "reasons": {}, "detail": None}
    for (subscriber, reason), left in report.left.items():
        row = rows[subscriber]
        row["left"] += left.count
        row["reasons"][reason] = left.count
        row["detail"] = row["detail"] or left.detail
    return list(rows.values())


def _say(session: Session, report: "RetryReport", *, dry_run: bool) -> None:
    would = "would be " if dry_run else ""
    for topic in report.made:
        session.say(f"{topic} {would or 'was '}made again.")
    left = sum(one.count for one in report.left.values())
    if not report.sent and not left:
        session.say("Nothing waits.")
        return
    told = f", {left} {'would wait' if dry_run else 'wait'} on" if left else ""
    session.say(f"{report.sent.total()} {would}sent{told}.")
    if any(reason == "topic_missing" for _, reason in report.left):
        session.say("With --make-topics the topics that are missing are made again.")


def _many(count: int, what: str) -> str:
    return f"{count:,} {what}{'' if count == 1 else 's'}"

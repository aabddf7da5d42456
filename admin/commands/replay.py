"""`tamis replay`: what events of the past match, and whether all of it was delivered."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import single
from tamis.admin.errors import UsageError
from tamis.admin.exit_codes import ExitCode
from tamis.admin.options import PLACES, Timeout
from tamis.admin.session import Session, session_of
from tamis.admin.spark import Conf, Master, spark, spark_options

if TYPE_CHECKING:
    from tamis.broker.configuration import Settings
    from tamis.broker.positions import Position
    from tamis.spark_sink.replay_job import Against, Plan, Report
    from tamis.spark_sink.replay_progress import HowFar
    from tamis.spark_sink.replay_sources import Interval, ReplaySource
    from tamis.spark_sink.session import Spark

app = single()

_PRINT_SUBMIT = "--print-submit"
_TOLD = 20
"""Subscriptions, and differences, that people are shown."""


@app.command(
    epilog="""\b
Examples:
  tamis replay --archive /data/archive --from -7d -f proposed.ndjson     what would this have matched last week?
  tamis replay --archive /data/archive --from -1d --out matches          what today's subscriptions match, in Parquet
  tamis replay --archive /data/archive --as-delivered --compare-delivered
                                                     was everything delivered, once? Exit code 1 if not
"""
)
def replay(
    context: typer.Context,
    start: Annotated[
        str, typer.Option("--from", metavar="TIME", help="From this Kafka timestamp on: a time, so long ago, or start.")
    ] = "start",
    end: Annotated[
        str, typer.Option("--to", metavar="TIME", help="Up to this one, exclusive: a time, so long ago, or end.")
    ] = "end",
    archive: Annotated[
        str | None, typer.Option("--archive", metavar="PATH", help="The archive to read; default: archive.path.")
    ] = None,
    kafka: Annotated[
        bool, typer.Option("--kafka", help=f"Read Kafka instead; --from and --to may be any place: {PLACES}.")
    ] = False,
    subscriptions: Annotated[
        Path | None,
        typer.Option(
            "--subscriptions",
            "-f",
            metavar="FILE",
            help="Match against these: lines as `tamis subscribe -f` takes them, or a snapshot. Default: those of now.",
        ),
    ] = None,
    as_delivered: Annotated[
        bool, typer.Option("--as-delivered", help="Match against what was in force when each event was matched.")
    ] = False,
    compare: Annotated[
        bool, typer.Option("--compare-delivered", help="Compare with the notifications; exit code 1 if they differ.")
    ] = False,
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Write all that is found there, as Parquet.")
    ] = None,
    publish: Annotated[
        str | None,
        typer.Option("--publish", metavar="TOPIC", help="Send notifications of all matches there, in transactions."),
    ] = None,
    master: Master = None,
    conf: Conf = None,
    print_submit: Annotated[
        bool, typer.Option(_PRINT_SUBMIT, help="Print how spark-submit would run this on a cluster, and do nothing.")
    ] = False,
    timeout: Timeout = 10.0,
) -> ExitCode | None:
    """Match events of the past again, with the engine and the decoder that brokers have.

    What is printed are the matches of each subscription, and what could not be decoded. Events are chosen by their
    Kafka timestamps.
    """
    from tamis.spark_sink.replay_job import Plan

    session = session_of(context)
    origin = _origin(session, archive, start, end, kafka=kafka)
    if publish is not None and (compare or out is not None):
        raise UsageError("--publish goes with neither --out nor --compare-delivered: run it by itself.")
    plan = Plan(_against(subscriptions, timeout, as_delivered=as_delivered), out, compare, publish)
    if print_submit:
        line = _submit_line(session, master, conf)
        session.out.item({"command": line}, text=line)
        return None
    if publish is not None:
        session.confirm(f"Publish notifications of all matches to {publish}?")
    report = _replayed(session, origin, plan, master, conf)
    session.out.item(_row(report), text=_text(report))
    return ExitCode.NO if report.comparison is not None and not report.comparison.is_empty else None


Origin = Callable[["Spark", "Settings"], "ReplaySource"]


def _origin(session: Session, archive: str | None, start: str, end: str, *, kafka: bool) -> Origin:
    """What opens the source once Spark is there; what is wrong with it on the command line is told before."""
    if kafka and archive is not None:
        raise UsageError("Say --archive PATH or --kafka, not both.")
    if kafka:
        places = _position(start, "--from"), _position(end, "--to")

        def of_kafka(started: "Spark", settings: "Settings") -> "ReplaySource":
            from tamis.spark_sink.replay_kafka import KafkaSource

            return KafkaSource(started, settings, *places)

        return of_kafka
    path = archive or session.settings.archive.path
    if path is None:
        raise UsageError("Say where the archive is: --archive PATH, or archive.path in the configuration. Or --kafka.")
    interval = _interval(start, end)

    def of_archive(started: "Spark", _settings: "Settings") -> "ReplaySource":
        from tamis.spark_sink.replay_sources import ArchiveSource

        return ArchiveSource(started, str(path), interval)

    return of_archive


def _replayed(session: Session, origin: Origin, plan: "Plan", master: str | None, conf: list[str] | None) -> "Report":
    from tamis.spark_sink.replay_job import run

    settings = session.settings
    with spark(session, "tamis replay", master, conf) as started, session.progress("events") as advance:
        done = 0

        def tell(how_far: "HowFar") -> None:
            nonlocal done
            # Events at a border of two passes are matched in both, and to be published all are, after being counted.
            events = min(how_far.events, how_far.events_known or how_far.events)
            tasks = f"{how_far.tasks} of {how_far.tasks_known} tasks"
            advance(events - done, total=how_far.events_known, note=tasks)
            done = events

        return run(started, settings, origin(started, settings), plan, tell)


def _submit_line(session: Session, master: str | None, conf: list[str] | None) -> str:
    from tamis.admin import submitted
    from tamis.spark_sink.submitting import ENVIRONMENT, submit_line

    options = spark_options(session, master, conf)
    asked = [word for word in session.arguments if word != _PRINT_SUBMIT]
    session.say(f"{ENVIRONMENT} is an environment with Tamis in it: venv-pack -o {ENVIRONMENT}")
    return submit_line(options, str(submitted.__file__), asked)


def _against(subscriptions: Path | None, seconds: float, *, as_delivered: bool) -> "Against":
    from tamis.spark_sink.replay_job import AsDelivered, FromFile, Now

    if subscriptions is not None and as_delivered:
        raise UsageError("Say --subscriptions FILE or --as-delivered, not both.")
    if subscriptions is not None:
        with subscriptions.open("rb"):
            return FromFile(subscriptions)
    return AsDelivered() if as_delivered else Now(seconds)


def _interval(start: str, end: str) -> "Interval":
    from tamis.broker.positions import START, Position
    from tamis.spark_sink.replay_sources import Interval

    def milliseconds(text: str, option: str, open_end: Position) -> int | None:
        position = _position(text, option)
        if position == open_end:
            return None
        if position.milliseconds is None:
            raise UsageError(f"{option} {text}: an archive is read by time: 2026-11-18T08:00, -1h, start or end.")
        return position.milliseconds

    return Interval(milliseconds(start, "--from", START), milliseconds(end, "--to", Position()))


def _position(text: str, option: str) -> "Position":
    from tamis.broker.errors import InvalidError
    from tamis.broker.positions import Position

    try:
        return Position.parse(text)
    except InvalidError as error:
        raise UsageError(f"{option}: {error}") from error


def _row(report: "Report") -> Mapping[str, Any]:
    counts = report.counts
    row: dict[str, Any] = {
        "events": counts.events,
        "matches": counts.matches,
        "rejected": dict(counts.rejected),
        "without_view": counts.without_view,
        "subscriptions": dict(counts.subscriptions),
        "never": counts.never,
    }
    if report.published is not None:
        row["published"] = report.published
    if report.comparison is not None:
        row |= {
            "expected": report.comparison.expected,
            "delivered": report.comparison.delivered,
            "differences": {str(kind): count for kind, count in report.comparison.differences.items()},
            "different": list(report.differences),
            "uncompared": report.comparison.uncompared,
        }
    return row


def _text(report: "Report") -> str:
    """For people: the subscriptions that match most, and sums."""
    counts = report.counts
    found = sorted(counts.subscriptions.items(), key=lambda one: (-one[1], one[0]))
    shown = [(key, count) for key, count in found if count][:_TOLD]
    width = max((len(key) for key, _ in shown), default=0)
    lines = [f"{key.ljust(width)}  {count:>12,}" for key, count in shown]
    if (more := sum(count > 0 for _, count in found) - len(shown)) > 0:
        lines.append(f"... and {more:,} more subscriptions with matches; -o json tells all, --out writes them.")
    rejected = sum(counts.rejected.values())
    why = ", ".join(f"{reason} {count:,}" for reason, count in sorted(counts.rejected.items()))
    lines.append(
        f"{counts.events:,} events, {counts.matches:,} matches of {len(found) - len(counts.never):,} subscriptions, "
        f"{len(counts.never):,} match nothing; {rejected:,} events rejected{f' ({why})' if why else ''}"
    )
    if counts.without_view:
        lines.append(f"{counts.without_view:,} events have no view yet: nobody has matched them, as far as is told")
    if report.published is not None:
        lines.append(f"{report.published:,} notifications published")
    if report.comparison is not None:
        told = ", ".join(f"{count:,} {kind}" for kind, count in report.comparison.differences.items())
        lines += [_difference(one) for one in report.differences[:_TOLD]]
        lines.append(
            f"{report.comparison.expected:,} notifications expected, {report.comparison.delivered:,} delivered: {told}"
        )
        if report.comparison.uncompared:
            told = f"{report.comparison.uncompared:,} events are not compared"
            lines.append(f"{told}: what brokers sent of them, if they did, may not have been read yet")
    return "\n".join(lines)


def _difference(one: Mapping[str, Any]) -> str:
    should = ", ".join((one["should"] or "").split("/")) or "nothing"
    told = " and ".join(", ".join(each.split("/")) for each in one["told"]) or "nothing"
    place = f"{one['topic_id']} [{one['partition']}] {one['offset']}"
    return f"{one['difference']}: {one['subscriber']}, event {place}: should tell {should}, told {told}"

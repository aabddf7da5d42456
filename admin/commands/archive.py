"""`tamis archive`: every event, and all that Tamis made of it, kept for good."""

import sys
from contextlib import ExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Self

import typer

from tamis.admin.command_line import group
from tamis.admin.errors import UsageError
from tamis.admin.exit_codes import ExitCode
from tamis.admin.options import Metrics
from tamis.admin.output import Column
from tamis.admin.progress import Advance
from tamis.admin.session import Session, session_of
from tamis.admin.signals import stopped_by_signals
from tamis.admin.spark import Conf, Master, spark

if TYPE_CHECKING:
    from tamis.spark_sink.archive import Done
    from tamis.spark_sink.archive_place import Place
    from tamis.spark_sink.archive_stream import Pace

app = group("Keep events, subscriptions, views and what became of them in a table for good, and look after it.")

_STATES = {"ok": "green", "late": "yellow", "lost": "red"}
_STATUS = [
    Column("topic"),
    Column("partition", right=True),
    Column("state", colours=_STATES),
    Column("archived_to", right=True),
    Column("end", right=True),
    Column("lag", right=True),
    Column("rows", right=True),
    Column("bytes", right=True),
    Column("whole_since", right=True),
    Column("lost", right=True),
    Column("topic_id", wide=True),
]
_VERDICTS = [
    Column("topic"),
    Column("partition", right=True),
    Column("right"),
    Column("rows", right=True),
    Column("doubled", right=True),
    Column("beyond", right=True),
    Column("compared", right=True),
    Column("missing", right=True),
    Column("first_missing", right=True, wide=True),
    Column("differing", right=True),
    Column("foreign", right=True),
    Column("topic_id", wide=True),
]

Path = Annotated[
    str | None, typer.Option("--path", metavar="PATH", help="The archive's folder, or its URL; else archive.path.")
]
Notifications = Annotated[bool, typer.Option("--notifications", help="Also what subscribers were sent.")]
AcceptLoss = Annotated[
    bool,
    typer.Option(
        "--accept-loss", help="Where Kafka has no more what was not archived: note that it is missing, go on."
    ),
]
Records = Annotated[
    int, typer.Option("--batch", min=1, metavar="N", help="How many offsets one commit covers, at most.")
]


@app.command(
    epilog="""\b
Examples:
  tamis archive once --path /data/archive
  tamis archive once --notifications -o json       also what subscribers were sent
  tamis archive once --path s3a://bucket/tamis --conf spark.jars.packages=org.apache.hadoop:hadoop-aws:3.4.1
"""
)
def once(
    context: typer.Context,
    path: Path = None,
    notifications: Notifications = False,
    accept_loss: AcceptLoss = False,
    batch: Records = 5_000_000,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Archive what is not in the archive yet, up to the present end of each topic, and end.

    Run it as often as you like, for instance by cron: it goes on where the archive ends, and adds each record once,
    whatever ended it before.
    """
    from tamis.spark_sink.archive_stream import Pace

    session = session_of(context)
    done = _archived(session, path, Pace(batch), (notifications, accept_loss), (master, conf))
    if done is None:
        raise KeyboardInterrupt
    row = asdict(done)
    lost = f" {done.lost:,} offsets were gone, and are noted as missing." if done.lost else ""
    text = f"Archived {done.records:,} records of {done.topics} topics in {done.seconds:g} s.{lost}"
    session.out.item(row, text=text)


@app.command(
    epilog="""\b
Examples:
  tamis archive run --path /data/archive
  tamis archive run --every 300 --notifications 2> archive.log
  tamis archive run --metrics 127.0.0.1:9465       with metrics for Prometheus
"""
)
def run(
    context: typer.Context,
    path: Path = None,
    every: Annotated[float, typer.Option(min=0.1, metavar="SECONDS", help="Between two commits, at least.")] = 30.0,
    notifications: Notifications = False,
    accept_loss: AcceptLoss = False,
    batch: Records = 5_000_000,
    metrics: Metrics = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Archive on and on, until SIGTERM or Ctrl-C: the service. It logs a line for each batch to stderr.

    What is not committed when it ends is read again by the next one. Topics that come later are taken in.
    """
    from tamis.spark_sink.archive_stream import Pace

    session = session_of(context)
    _archived(session, path, Pace(batch, every), (notifications, accept_loss), (master, conf), metrics)


@app.command(
    epilog="""\b
Examples:
  tamis archive status
  tamis archive status -q || alert             exit code 1 if Kafka could forget, or forgot, what is not archived
  tamis archive status -o json | jq 'map(.rows) | add'
"""
)
def status(
    context: typer.Context,
    path: Path = None,
    notifications: Notifications = False,
    master: Master = None,
    conf: Conf = None,
) -> ExitCode:
    """Print how far the archive is in each partition, how much it has, and from which offset on it is whole.

    Exit code 1 if retention or compaction has taken, or is about to take, what is not archived yet.
    """
    session = session_of(context)
    place = _place(session, path)
    settings = session.settings
    with spark(session, "tamis archive status", master, conf) as started:
        from tamis.spark_sink.archive_status import State
        from tamis.spark_sink.archive_status import status as status_of

        found = status_of(started, settings, place, notifications=notifications)
    session.out.rows([asdict(each) for each in found], _STATUS)
    waiting = sum(each.lag or 0 for each in found)
    session.say(f"{sum(each.rows for each in found):,} records of {len(found)} partitions; {waiting:,} offsets wait.")
    names = settings.names
    partial = [each for each in found if each.topic == names.subscriptions and each.whole_since]
    if partial:
        session.say(
            f"Before the archive began, compaction had gone through {names.subscriptions}: the archive is whole from "
            "the first view on that has, "
            + ", ".join(f"in partition {each.partition}, {each.whole_since} or more" for each in partial)
            + "."
        )
    for each in found:
        if each.state is State.LATE:
            session.say(
                f"{each.topic} [{each.partition}]: {each.lag:,} offsets wait, and half of the time is over for which "
                "Kafka keeps the oldest of them. Archive now: tamis archive once"
            )
        elif each.state is State.LOST:
            session.say(f"{each.topic} [{each.partition}]: Kafka no longer has some of what is not archived yet.")
    alarm = any(each.state in (State.LATE, State.LOST) for each in found)
    return ExitCode.NO if alarm else ExitCode.YES


@app.command(
    epilog="""\b
Examples:
  tamis archive verify
  tamis archive verify -o json | jq 'map(select(.missing > 0))'
"""
)
def verify(context: typer.Context, path: Path = None, master: Master = None, conf: Conf = None) -> ExitCode:
    """Tell whether the archive has every record once: in itself, and beside what Kafka still has. Exit code 1 if not.

    All of the archive is read, and all of what Kafka has of it.
    """
    session = session_of(context)
    place = _place(session, path)
    settings = session.settings
    with spark(session, "tamis archive verify", master, conf) as started:
        from tamis.spark_sink.archive_verify import verify as verdicts_of

        found = verdicts_of(started, settings, place)
    session.out.rows([{**asdict(each), "right": each.is_right} for each in found], _VERDICTS)
    wrong = sum(not each.is_right for each in found)
    session.say(
        f"{sum(each.rows for each in found):,} records, of which Kafka still has {sum(e.compared for e in found):,}: "
        + (f"{wrong} of {len(found)} partitions are wrong." if wrong else "each of them once, and none is missing.")
    )
    return ExitCode.NO if wrong else ExitCode.YES


@app.command(
    epilog="""\b
Examples:
  tamis archive optimize                        many small files become few
  tamis archive optimize --vacuum               and those that nobody needs any more are removed
"""
)
def optimize(
    context: typer.Context,
    path: Path = None,
    vacuum: Annotated[
        bool, typer.Option("--vacuum", help="Also remove files that no version of the last week needs.")
    ] = False,
    hours: Annotated[
        float | None, typer.Option("--keep-hours", min=0, metavar="N", help="With --vacuum: of the last so many hours.")
    ] = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Make few files of many: each commit adds one for each partition. It may run beside an archiver."""
    session = session_of(context)
    place = _place(session, path)
    if hours is not None and not vacuum:
        raise UsageError("--keep-hours is about --vacuum.")
    with spark(session, "tamis archive optimize", master, conf) as started:
        from tamis.spark_sink.archive_upkeep import optimize as upkeep_of

        done = upkeep_of(started, place, vacuum=vacuum, hours=hours)
    session.out.item(asdict(done), text=f"{done.files_before} files became {done.files}, of {done.bytes:,} bytes.")


def _archived(
    session: Session,
    path: str | None,
    pace: "Pace",
    wanted: tuple[bool, bool],
    where: tuple[str | None, list[str] | None],
    metrics: str | None = None,
) -> "Done | None":
    """What came of it, if it was not stopped."""
    place = _place(session, path)
    settings = session.settings
    if not sys.stderr.isatty() and not session.options.quiet:
        from tamis.broker.logs import configure_logging

        configure_logging()
    from tamis.broker.configuration import MetricsSettings
    from tamis.spark_sink.session import SparkError

    # That of the settings is a broker's.
    served = MetricsSettings() if metrics is None else MetricsSettings.at(metrics, "flag --metrics")
    done = None
    with stopped_by_signals() as stop:
        try:
            with spark(session, "tamis archive", *where) as started:
                from tamis.broker.metrics_server import MetricsServer
                from tamis.spark_sink.archive import Archiver, Wanted
                from tamis.spark_sink.archive_metrics import ArchivePages

                notifications, accept_loss = wanted
                archiver = Archiver(started, settings, place, Wanted(pace, notifications, accept_loss))
                if not stop.is_set():
                    with MetricsServer(served, ArchivePages(archiver.meters)), _Shown(session) as shown:
                        done = archiver.run(stop.is_set, shown)
        except SparkError:
            if not stop.is_set():  # whoever stops a service may stop all of its processes, Spark's too
                raise
    return None if stop.is_set() else done


def _place(session: Session, path: str | None) -> "Place":
    from tamis.spark_sink.archive_place import Place

    given = path or session.settings.archive.path
    if not given:
        raise UsageError(
            "Where is the archive? Say --path PATH, or set archive.path in tamis.toml, or TAMIS_ARCHIVE__PATH."
        )
    return Place.at(given)


class _Shown:
    """How far it is, in the way that the command shows it: a bar appears once it is known how much there is."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._stack = ExitStack()
        self._advance: Advance | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def expect(self, offsets: int) -> None:
        self._stack.close()
        self._advance = self._stack.enter_context(self._session.progress("offsets", offsets))

    def advance(self, offsets: int) -> None:
        if self._advance is not None:
            self._advance(offsets)

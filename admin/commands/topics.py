"""`tamis topics`: making, listing and checking topics, and saying where groups go on in them."""

from collections.abc import Mapping
from typing import Annotated

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.output import Column
from tamis.admin.session import Session, session_of

app = group("Make, list and check Tamis's topics in Kafka.")

_MADE = [Column("topic"), Column("result", colours={"made": "green"})]
_LISTED = [
    Column("topic"),
    Column("role"),
    Column("partitions", right=True),
    Column("replicas", right=True),
    Column("cleanup"),
    Column("retention"),
    Column("offsets", right=True),
    Column("id", wide=True),
]
_CHECKED = [
    Column("topic"),
    Column("about"),
    Column("status", colours={"OK": "green", "WARN": "yellow", "FAIL": "red"}),
    Column("found"),
    Column("wanted", wide=True),
    Column("fix"),
]
_MOVED = [Column("group"), Column("topic"), Column("partition", right=True), Column("before", right=True)]
_MOVED += [Column("after", right=True)]

Partitions = Annotated[int, typer.Option("--partitions", min=1, metavar="N", help="Of event topics that are made.")]
Replication = Annotated[
    int | None,
    typer.Option(min=1, metavar="R", help="Of topics that are made; default: 3, or as many as there are nodes."),
]
FromStart = Annotated[
    bool, typer.Option("--from-start", help="Match also events that are there already, not only those to come.")
]


@app.command(
    epilog="""\b
Examples:
  tamis topics create                              one shard, events in tamis.events
  tamis topics create --event-topic orders         events from a topic of yours, from now on
  tamis topics create --shards 4 --partitions 32   for several processes that share the subscriptions
"""
)
def create(
    context: typer.Context,
    shards: Annotated[int, typer.Option(min=1, metavar="K", help="Into how many parts the subscriptions are cut.")] = 1,
    event_topic: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC", help="Where events come from; made if missing; repeatable. Default: PREFIX.events"
        ),
    ] = None,
    partitions: Partitions = 4,
    replication: Replication = None,
    from_start: FromStart = False,
    subscription_partitions: Annotated[
        int, typer.Option(min=1, max=1000, metavar="N", help="Of the subscription topic: never more shards than these.")
    ] = 16,
) -> None:
    """Make all of Tamis's topics, and write down how work on them is cut.

    What is there already stays; what is missing is made. So it may be run again, also after it was interrupted.
    """
    from tamis.broker.topics import Wanted
    from tamis.broker.topics import create as create_topics

    session = session_of(context)
    wanted = Wanted(
        event_topics=event_topic or (),
        shards=shards,
        subscription_partitions=subscription_partitions,
        event_partitions=partitions,
        replication=replication,
        from_start=from_start,
    )
    made = create_topics(session.settings, wanted)
    _print_made(session, made.topics)
    if made.is_new:
        session.say(f"Layout {made.layout.number} is written: shards {made.layout.shards}.")
    elif not any(made.topics.values()):
        session.say("All of it is there already.")


@app.command(
    epilog="""\b
Examples:
  tamis topics add payments                events of one more topic, from now on
  tamis topics add payments --from-start   and those that are in it
"""
)
def add(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(metavar="TOPIC", help="The topic that events come from.")],
    partitions: Annotated[
        int | None, typer.Option(min=1, metavar="N", help="Make it, with so many, if it is missing.")
    ] = None,
    from_start: FromStart = False,
) -> None:
    """Let one more event topic take part. Brokers that run need not stop."""
    from tamis.broker.topics import add as add_topic

    session = session_of(context)
    made = add_topic(session.settings, topic, partitions=partitions, from_start=from_start)
    _print_made(session, made.topics)
    session.say(f"Events of {topic} take part{'' if made.is_new else ' already'}.")


@app.command(name="list")
def list_(
    context: typer.Context,
    everything: Annotated[bool, typer.Option("--all", help="Also subscribers' topics: one each.")] = False,
) -> None:
    """List the topics of this Tamis: its own, and those that events come from."""
    from tamis.broker.topic_list import list_topics

    session = session_of(context)
    rows = [
        {
            "topic": listed.facts.name,
            "role": listed.role,
            "partitions": listed.facts.partitions,
            "replicas": listed.facts.replication,
            "cleanup": (listed.facts.config or {}).get("cleanup.policy"),
            "retention": _retention((listed.facts.config or {}).get("retention.ms")),
            "offsets": listed.offsets,
            "id": listed.facts.id,
        }
        for listed in list_topics(session.settings, notifications=everything)
    ]
    session.out.rows(rows, _LISTED)
    if not rows:
        session.say(f"There is none under the prefix {session.settings.prefix}. Make them: tamis topics create")


@app.command()
def check(
    context: typer.Context,
    problems: Annotated[bool, typer.Option("--problems", help="Print only what is not OK.")] = False,
) -> ExitCode:
    """Compare every topic with what Tamis's promises need. Exit code 1 if one of them is broken."""
    from tamis.broker.topic_checks import Status
    from tamis.broker.topics import check_topics

    session = session_of(context)
    findings = check_topics(session.settings)
    rows = [
        {
            "topic": finding.topic,
            "about": finding.about,
            "status": finding.status.value,
            "found": finding.found,
            "wanted": finding.wanted,
            "fix": finding.fix,
        }
        for finding in findings
        if not (problems and finding.status is Status.OK)
    ]
    session.out.rows(rows, _CHECKED)
    failed = sum(finding.status is Status.FAIL for finding in findings)
    warned = sum(finding.status is Status.WARN for finding in findings)
    session.say(f"{len(findings)} checked: {failed} failed, {warned} to look at.")
    return ExitCode.NO if failed else ExitCode.YES


@app.command(
    epilog="""\b
Examples:
  tamis topics set-start orders --at end --dry-run       what would change
  tamis topics set-start orders --at 2026-11-18T08:00    from the first event of that time on (UTC)
  tamis topics set-start orders --at 4711 --partition 3  in one partition
"""
)
def set_start(
    context: typer.Context,
    topic: Annotated[
        str, typer.Argument(metavar="TOPIC", help="An event topic, or the subscription topic after it was made anew.")
    ],
    at: Annotated[
        str, typer.Option(metavar="PLACE", help="start, end, an offset, -N before the end, a time, -1h ago.")
    ],
    partition: Annotated[
        list[int] | None, typer.Option(min=0, metavar="P", help="Only this one; repeatable. Default: all.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would change, and change nothing.")] = False,
) -> None:
    """Say where brokers go on in a topic, when what they had committed is lost or of no more use.

    A broker that cannot know stops and names this command: its offsets are lost, events are gone that it had not read,
    or the topic was deleted and made anew. Events before the place are not matched; events after it that were matched
    already are matched again. All brokers have to be stopped.
    """
    from tamis.broker.group_starts import apply, decide
    from tamis.broker.positions import Position

    session = session_of(context)
    decision = decide(session.settings, topic, Position.parse(at), partition or ())
    rows = [
        {"group": move.group, "topic": topic, "partition": move.partition, "before": move.before, "after": move.after}
        for move in decision.moves
    ]
    session.out.rows(rows, _MOVED)
    if decision.known_id != decision.topic_id:
        session.say(
            f"{topic} was made anew: the layout has it as {decision.known_id}, and now it is {decision.topic_id}."
        )
    if dry_run:
        session.say("Nothing was changed.")
        return
    session.confirm(f"Let all brokers go on in {topic} at these offsets?")
    apply(session.settings, decision)
    session.say("Done. Brokers may start.")


def _print_made(session: Session, topics: Mapping[str, bool]) -> None:
    rows = [{"topic": topic, "result": "made" if is_made else "there"} for topic, is_made in topics.items()]
    session.out.rows(rows, _MADE)


def _retention(milliseconds: str | None) -> str | None:
    if milliseconds is None:
        return None
    if int(milliseconds) < 0:
        return "for ever"
    days = int(milliseconds) / 86_400_000
    return f"{days:g} days" if days >= 1 else f"{days * 24:g} h"

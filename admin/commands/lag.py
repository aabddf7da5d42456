"""`tamis lag`: how many events wait, and who has their partitions."""

from typing import Annotated

import typer

from tamis.admin.command_line import single
from tamis.admin.exit_codes import ExitCode
from tamis.admin.options import Timeout
from tamis.admin.output import Column
from tamis.admin.session import session_of

app = single()

_COLUMNS = [
    Column("topic"),
    Column("partition", right=True),
    Column("shard", right=True),
    Column("committed", right=True),
    Column("end", right=True),
    Column("lag", right=True),
    Column("hidden", right=True, wide=True),
    Column("owner"),
    Column("client", wide=True),
    Column("member", wide=True),
    Column("group", wide=True),
]


@app.command(
    epilog="""\b
Examples:
  tamis lag                          of every shard, in each event partition
  tamis lag --max 1000 -q            exit code 1 if more than 1000 events wait in one of them
  tamis lag -o json | jq 'map(.lag) | add'
"""
)
def lag(
    context: typer.Context,
    most: Annotated[
        int | None,
        typer.Option("--max", min=0, metavar="N", help="Exit code 1 if more wait in a partition, or nobody can tell."),
    ] = None,
    timeout: Timeout = 10.0,
) -> ExitCode:
    """Print how far brokers are in each event partition, how much is left, and which process has it.

    Lag is in offsets, as Kafka counts. It is 0 where nothing but transaction markers is left. What is hidden (-o wide)
    lies behind a transaction that somebody has open, and cannot be read before that ends.
    """
    from tamis.broker.lag import lags

    session = session_of(context)
    found = lags(session.settings, timeout)
    rows = [
        {
            "topic": each.topic,
            "partition": each.partition,
            "shard": each.shard,
            "group": each.group,
            "committed": each.committed,
            "end": each.end,
            "lag": each.lag,
            "hidden": each.hidden,
            "owner": None if each.owner is None else each.owner.host,
            "client": None if each.owner is None else each.owner.client,
            "member": None if each.owner is None else each.owner.member,
        }
        for each in found
    ]
    session.out.rows(rows, _COLUMNS)
    waiting = sum(each.lag or 0 for each in found)
    unowned = sum(each.owner is None for each in found)
    unknown = sum(each.lag is None for each in found)
    session.say(
        f"{waiting} in {len(found)} partitions; {unowned} have no owner"
        + (f"; of {unknown} it cannot be told, since they have no leader." if unknown else ".")
    )
    over = most is not None and any(each.lag is None or each.lag > most for each in found)
    return ExitCode.NO if over else ExitCode.YES

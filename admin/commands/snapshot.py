"""`tamis snapshot`: what is in force, kept in Redis so that brokers start fast, or in a file."""

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tamis.admin.command_line import group
from tamis.admin.exit_codes import ExitCode
from tamis.admin.moments import moment
from tamis.admin.output import Column
from tamis.admin.session import session_of

if TYPE_CHECKING:
    from tamis.broker.snapshot_tools import Listed, Saved

app = group("See, prove and make snapshots of subscriptions: they make starts fast, and change nothing else.")

_STATES = {"usable": "green", "unusable": "red"}
_LISTED = [
    Column("generation"),
    Column("shard", right=True),
    Column("newest"),
    Column("subscriptions", right=True),
    Column("bytes", right=True),
    Column("created"),
    Column("state", colours=_STATES),
    Column("detail"),
    Column("view", wide=True),
    Column("chunks", wide=True, right=True),
]
_PROVED = [
    Column("generation"),
    Column("shard", right=True),
    Column("state", colours=_STATES),
    Column("seconds", right=True),
    Column("detail"),
]
_SAVED = [
    Column("generation"),
    Column("file"),
    Column("shard", right=True),
    Column("subscriptions", right=True),
    Column("bytes", right=True),
    Column("seconds", right=True),
    Column("view", wide=True),
]

Generation = Annotated[str | None, typer.Argument(metavar="GENERATION", help="Which one; default: all.")]
Shard = Annotated[int | None, typer.Option("--shard", min=0, metavar="I", help="Of this shard; default: of all.")]


@app.command(
    name="list",
    epilog="""\b
Examples:
  tamis snapshot list                   newest first, and whether a broker would start from it
  tamis snapshot list --shard 0 -o wide
  tamis snapshot list -o json | jq '.[] | select(.newest) | .age_seconds'
""",
)
def list_(context: typer.Context, shard: Shard = None) -> None:
    """List the snapshots that Redis has. They are not read: tamis snapshot verify does that."""
    from tamis.broker.snapshot_tools import listed

    session = session_of(context)
    session.out.rows([_row(each) for each in listed(session.settings, _only(shard))], _LISTED)


@app.command(
    epilog="""\b
Examples:
  tamis snapshot show 1795067220-5f0c2a91
"""
)
def show(
    context: typer.Context,
    generation: Annotated[str, typer.Argument(metavar="GENERATION", help="As tamis snapshot list names it.")],
) -> None:
    """Print all that is known of one snapshot, without reading it."""
    from tamis.broker.snapshot_tools import listed

    session = session_of(context)
    (found, *_) = listed(session.settings, name=generation)
    session.out.item(_row(found))


@app.command(
    epilog="""\b
Examples:
  tamis snapshot verify                 exit code 1 if one could not be used, or if there is none
  tamis snapshot verify --shard 0
  tamis snapshot verify 1795067220-5f0c2a91
"""
)
def verify(context: typer.Context, generation: Generation = None, shard: Shard = None) -> ExitCode:
    """Load snapshots as a broker would, with every check. Exit code 1 if one fails, or if there is none."""
    from tamis.broker.snapshot_tools import listed, verified

    session = session_of(context)
    found = listed(session.settings, _only(shard), generation)
    rows: list[Mapping[str, Any]] = []
    total = sum(each.generation.size for each in found if each.generation is not None)
    with session.progress("bytes", total) as advance:
        for each in found:
            began = time.monotonic()
            wrong = verified(session.settings, each, advance)
            row = {"generation": each.name, "shard": each.shard, "state": "unusable" if wrong else "usable"}
            rows.append(row | {"seconds": round(time.monotonic() - began, 3), "detail": wrong or None})
    session.out.rows(rows, _PROVED)
    if not rows:
        session.say(
            "There is no snapshot: brokers read all subscriptions when they start. tamis snapshot save makes one."
        )
    return ExitCode.YES if rows and all(row["detail"] is None for row in rows) else ExitCode.NO


@app.command(
    epilog="""\b
Examples:
  tamis snapshot save                           of each shard, to Redis
  tamis snapshot save --shard 0 --to today.tamis    to a file: to look at it, or to replay events against it
"""
)
def save(
    context: typer.Context,
    shard: Shard = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", metavar="FILE", help="Write this file instead: of one shard, if there are several."),
    ] = None,
) -> None:
    """Read all subscriptions, and keep what is in force: in Redis, as brokers do by themselves, or in a file."""
    from tamis.admin.errors import UsageError
    from tamis.broker.snapshot_tools import made, shards_of

    session = session_of(context)
    shards = _only(shard) or shards_of(session.settings)
    if to is not None and len(shards) > 1:
        raise UsageError(f"There are {len(shards)} shards, and one file holds one of them: name it, as in --shard 0.")
    rows: list[Mapping[str, Any]] = []
    for each in shards:
        done = 0
        with session.progress("records") as advance:

            def tell(reached: int, total: int) -> None:
                nonlocal done
                del total
                advance(reached - done)
                done = reached

            rows.append(_saved(made(session.settings, each, to, tell), to))
    session.out.rows(rows, _SAVED)


@app.command(
    epilog="""\b
Examples:
  tamis snapshot load today.tamis       brokers of its shard start from it, until a newer one is kept
"""
)
def load(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="That tamis snapshot save has written.")],
) -> None:
    """Put a snapshot's file into Redis. It must be of this Tamis, and not older than what is there."""
    from tamis.broker.snapshot_tools import loaded

    session = session_of(context)
    with session.progress("bytes") as advance:
        saved = loaded(session.settings, file, advance)
    session.out.rows([_saved(saved, None)], _SAVED)


def _only(shard: int | None) -> list[int] | None:
    return None if shard is None else [shard]


def _row(found: "Listed") -> Mapping[str, Any]:
    known = found.generation
    return {
        "generation": found.name,
        "shard": found.shard,
        "newest": found.is_newest,
        "subscriptions": None if known is None else known.subscriptions,
        "bytes": None if known is None else known.size,
        "created": None if known is None else moment(int(known.created * 1_000_000)),
        "age_seconds": None if found.age is None else round(found.age, 1),
        "state": "unusable" if found.faults else "usable",
        "detail": found.faults[0] if found.faults else None,
        "view": None if known is None else known.view.text,
        "chunks": None if known is None else len(known.chunks),
    }


def _saved(saved: "Saved", file: Path | None) -> Mapping[str, Any]:
    return {
        "generation": saved.name or None,
        "file": None if file is None else str(file),
        "shard": saved.shard,
        "subscriptions": saved.subscriptions,
        "bytes": saved.size,
        "seconds": round(saved.seconds, 3),
        "view": saved.view.text,
    }

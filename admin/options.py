"""Options that several commands have, and what they come to."""

from typing import TYPE_CHECKING, Annotated

import typer

from tamis.admin.errors import UsageError

if TYPE_CHECKING:
    from tamis.broker.positions import Position
    from tamis.broker.tailing import Extent

Timeout = Annotated[float, typer.Option("--timeout", min=0.1, metavar="SECONDS", help="How long Kafka may take.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Tell what would be done, and do nothing.")]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="HOST:PORT",
        help="Serve /metrics, /livez and /readyz there; port 0: any. Default: no.",
    ),
]

_ANSWER_SECONDS = 10.0
PLACES = "start, end, an offset, -N before the end, a time (2026-11-18T08:00), or so long ago (-1h)"
From = Annotated[
    str | None,
    typer.Option("--from", metavar="PLACE", help=f"Where to begin: {PLACES}; default: end, or start with --to."),
]
To = Annotated[
    str | None,
    typer.Option("--to", metavar="PLACE", help="Where to end, exclusive; without it, go on for ever."),
]
Count = Annotated[int | None, typer.Option("-n", "--count", min=0, help="End after so many.")]
Patience = Annotated[
    float | None,
    typer.Option(
        "--timeout",
        min=0.1,
        metavar="SECONDS",
        help="End after so long: with exit code 1 if fewer came than -n asks for, 3 before the end that --to names.",
    ),
]


def extent(start: str | None, end: str | None, count: int | None, seconds: float | None) -> "Extent":
    from tamis.broker.tailing import Extent

    return Extent(_position(start, "--from"), _position(end, "--to"), count, seconds)


def answer_seconds(asked: "Extent") -> float:
    """How long Kafka may take to tell where a topic begins and ends."""
    return min(_ANSWER_SECONDS, asked.seconds or _ANSWER_SECONDS)


def _position(text: str | None, option: str) -> "Position | None":
    from tamis.broker.errors import InvalidError
    from tamis.broker.positions import Position

    if text is None:
        return None
    try:
        return Position.parse(text)
    except InvalidError as error:
        raise UsageError(f"{option}: {error}") from error

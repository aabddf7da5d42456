"""The options that every command takes, before its name or after it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Self

import typer

from tamis.admin.output import Output
from tamis.admin.progress import Progress


@dataclass(frozen=True)
class GlobalOptions:
    """What was given of them so far; what is given later, nearer to the command, wins."""

    bootstrap_server: str | None = None
    context: str | None = None
    config: Path | None = None
    properties: tuple[str, ...] = field(default=(), repr=False)
    """Each `key=value`."""
    output: Output | None = None
    progress: Progress = Progress.AUTO
    quiet: bool = False
    yes: bool = False
    no_input: bool = False
    debug: bool = False

    def over(self, given: Mapping[str, Any]) -> Self:
        """With what one command was given; only what it was given is in there."""
        properties = (*self.properties, *given.get("properties", ()))
        return replace(self, **{**given, "properties": properties})


def declared(
    bootstrap_server: Annotated[
        str | None, typer.Option("--bootstrap-server", metavar="HOST:PORT,...", help="Where Kafka is.")
    ] = None,
    context: Annotated[
        str | None, typer.Option("--context", metavar="NAME", help="A context of the configuration.")
    ] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", metavar="FILE", help="The one file of configuration that is read."),
    ] = None,
    properties: Annotated[
        list[str] | None,
        typer.Option(
            "-X", metavar="KEY=VALUE", help="A property of librdkafka, for every client of Kafka; repeatable."
        ),
    ] = None,
    output: Annotated[
        Output | None,
        typer.Option("-o", "--output", help="How data is printed; default: table, or ndjson for streams."),
    ] = None,
    progress: Annotated[
        Progress | None, typer.Option("--progress", help="How far long work is: a bar, lines of JSON, or nothing.")
    ] = None,
    quiet: Annotated[bool | None, typer.Option("--quiet", "-q", help="No talk on stderr, but errors.")] = None,
    yes: Annotated[bool | None, typer.Option("--yes", "-y", help="Answer questions with yes.")] = None,
    no_input: Annotated[bool | None, typer.Option("--no-input", help="Never ask: fail where a yes is needed.")] = None,
    debug: Annotated[bool | None, typer.Option("--debug", help="Show where an error comes from.")] = None,
) -> None:
    """The declarations, as typer reads them."""


@cache
def parameters() -> "Mapping[str, Any]":
    """By name, as typer has them."""
    template = typer.Typer(add_completion=False, rich_markup_mode=None)
    template.command()(declared)
    return {parameter.name: parameter for parameter in typer.main.get_command(template).params}

"""The `tamis` command.

Data goes to stdout and talk to stderr. What takes long to import is imported inside the command that needs it, so that
`tamis --help` answers at once.
"""

import signal
import sys
import time
from contextlib import suppress
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from tamis.admin.errors import StackError

if TYPE_CHECKING:
    from tamis.broker.configuration import Settings

EXIT_UNREACHABLE = 3
EXIT_INTERRUPTED = 130
_WATCH_SECONDS = 0.5

app = typer.Typer(
    name="tamis",
    help="Content-based publish/subscribe on Kafka.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


class Output(StrEnum):
    """How data is printed on stdout."""

    TEXT = "text"
    JSON = "json"


def main() -> NoReturn:
    """Run the command line, and turn what a user can mend into one message and an exit code."""
    try:
        app()
        sys.exit(0)
    except StackError as error:
        _say(f"Error: {error}")
        for note in getattr(error, "__notes__", ()):
            _say(note)
        sys.exit(EXIT_UNREACHABLE)
    except KeyboardInterrupt:
        sys.exit(EXIT_INTERRUPTED)


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tamis {version('tamis')}")
        raise typer.Exit


@app.callback()
def _global_options(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    pass


def _one_or_three(brokers: int) -> int:
    if brokers not in (1, 3):
        raise typer.BadParameter(f"a stack has 1 broker, or 3 with replication; {brokers} were asked for")
    return brokers


@app.command(
    epilog="""\b
Examples:
  tamis dev                                      one Kafka broker and a Redis, on free ports
  tamis dev --kafka-port 9092 --redis-port 6379  on the ports that clients expect
  tamis dev --brokers 3                          three brokers, topics replicated
  tamis dev -o json -q | jq .kafka               for scripts
"""
)
def dev(
    brokers: Annotated[int, typer.Option(help="Kafka brokers: 1, or 3 with replication.", callback=_one_or_three)] = 1,
    secured: Annotated[
        bool, typer.Option("--secured", help="Clients must log in (SCRAM), and ACLs say what they may do.")
    ] = False,
    kafka_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of the first broker; default: a free one.")
    ] = None,
    redis_port: Annotated[
        int | None, typer.Option(min=1, max=65535, help="Port of Redis; default: a free one.")
    ] = None,
    output: Annotated[Output, typer.Option("-o", "--output", help="How the addresses are printed.")] = Output.TEXT,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No talk on stderr.")] = False,
) -> None:
    """Run a real Kafka and a real Redis on this machine until Ctrl-C.

    Needs Java 17 or newer, and neither Docker nor root. The first start fetches Kafka (46 MB) into the user's cache
    folder; later ones take 2 to 3 seconds. All data is removed at the end, also when this command is killed.
    """
    from tamis.admin.local import LocalStack, StackOptions, no_report

    report = no_report if quiet else _say
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    began = time.monotonic()
    options = StackOptions(brokers=brokers, secured=secured, kafka_port=kafka_port, redis_port=redis_port)
    with LocalStack(options, report) as stack, suppress(KeyboardInterrupt, BrokenPipeError):
        # Ctrl-C is how this command is meant to end; one whose reader has gone has nothing left to do either.
        _print_settings(stack.settings, output)
        report(f"Ready after {time.monotonic() - began:.1f} s. Ctrl-C stops it and removes its data.")
        while True:
            time.sleep(_WATCH_SECONDS)
            stack.require_running()
    report("Stopped; all data is removed.")


def _print_settings(settings: "Settings", output: Output) -> None:
    if output is Output.JSON:
        typer.echo(settings.model_dump_json())
        return
    lines = {"kafka": settings.kafka.bootstrap_servers, **settings.kafka.extra, "redis": settings.redis.url}
    width = max(map(len, lines))
    for name, value in lines.items():
        typer.echo(f"{name:{width}}  {value}")


def _say(line: str) -> None:
    with suppress(BrokenPipeError):  # nobody listens: no reason to stop
        typer.echo(line, err=True)

"""The `tamis` command.

Data goes to stdout and talk to stderr. What takes long to import is imported inside the command that needs it, so that
`tamis --help` answers at once.
"""

import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any, NoReturn

import typer

from tamis.admin.command_line import Entry, Root
from tamis.admin.session import Session, say

_STDOUT = 1
"""As the system numbers it."""

COMMANDS = {
    "dev": Entry("tamis.admin.commands.dev", "Run a whole Tamis on this machine, with a real Kafka, until Ctrl-C."),
    "demo": Entry("tamis.admin.commands.demo", "See it work: a shop's offers, on a real Kafka, in about a minute."),
    "broker": Entry("tamis.admin.commands.broker", "Match events and deliver what matches: the service."),
    "topics": Entry("tamis.admin.commands.topics", "Make, list and check Tamis's topics in Kafka."),
    "subscribe": Entry("tamis.admin.commands.subscribe", "Subscribe to the events that satisfy an expression."),
    "unsubscribe": Entry("tamis.admin.commands.unsubscribe", "Take subscriptions back."),
    "subscriptions": Entry("tamis.admin.commands.subscriptions", "See subscriptions, pause and resume them."),
    "subs": Entry("tamis.admin.commands.subscriptions", "Short for subscriptions."),
    "publish": Entry("tamis.admin.commands.publish", "Publish events."),
    "tail": Entry("tamis.admin.commands.tail", "Follow a subscriber's notifications."),
    "rejected": Entry("tamis.admin.commands.rejected", "See the input that was not understood."),
    "undelivered": Entry("tamis.admin.commands.undelivered", "See and send what a subscriber's topic did not take."),
    "explain": Entry("tamis.admin.commands.explain", "Tell why an expression matches an event, or why not."),
    "archive": Entry("tamis.admin.commands.archive", "Keep every event for good, in a table, by Spark."),
    "replay": Entry(
        "tamis.admin.commands.replay", "Match events of the past again, and compare with what was delivered."
    ),
    "lag": Entry("tamis.admin.commands.lag", "Tell how many events wait, and who has their partitions."),
    "stats": Entry("tamis.admin.commands.stats", "Count subscriptions, what topics hold, and what was rejected."),
    "doctor": Entry("tamis.admin.commands.doctor", "Look for what is wrong, or will be, and tell how to mend it."),
    "config": Entry("tamis.admin.commands.config", "Show the configuration, and where it came from."),
}

app = typer.Typer(
    name="tamis",
    cls=type("Tamis", (Root,), {"entries": COMMANDS}),
    help="Content-based publish/subscribe on Kafka.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)


def main() -> NoReturn:
    sys.exit(run(sys.argv[1:]))


def run(arguments: Sequence[str]) -> int:
    """Run one command line; its exit code. What a user can mend becomes one message."""
    session = Session(arguments)
    try:
        answer = typer.main.get_command(app).main(
            list(arguments), prog_name="tamis", standalone_mode=False, obj=session
        )
        sys.stdout.flush()
        return int(answer or 0)
    except SystemExit as error:
        if not isinstance(error.__context__, BrokenPipeError):
            raise
        return _leave_in_peace()
    except BrokenPipeError:
        return _leave_in_peace()
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - here every error gets its exit code
        return _report(error, session)


def _leave_in_peace() -> int:
    """The reader has what it wanted. What is still buffered has nowhere to go, at the interpreter's end neither."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), _STDOUT)
    return 0


def _report(error: BaseException, session: Session) -> int:
    from tamis.admin.exit_codes import ExitCode, exit_code_of, is_kafkas, message_of

    if session.options.debug:
        import traceback

        traceback.print_exception(error)
    if isinstance(error, typer.TyperException):  # typer's own class of wrong usage, with the usage in its message
        _show(error)
        return ExitCode.USAGE
    if isinstance(error, typer.Abort):
        say("Error: Nobody answered the question: standard input has ended. Say --yes to answer it.")
        return ExitCode.USAGE
    code = exit_code_of(error)
    if code is not ExitCode.INTERRUPTED:
        say(f"Error: {message_of(error)}{session.whereabouts if is_kafkas(error) else ''}")
        for note in getattr(error, "__notes__", ()):
            say(note)
    return code


def _show(error: Any) -> None:
    error.show()


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"tamis {version('tamis')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", help="Print the version and exit.", is_eager=True, callback=_print_version),
    ] = False,
) -> None:
    pass

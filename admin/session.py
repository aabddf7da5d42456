"""One run of the command: its global options, its configuration, and its ways to talk."""

import logging
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, suppress
from functools import cached_property
from typing import TYPE_CHECKING

import typer

from tamis.admin.errors import DeclinedError, UsageError
from tamis.admin.global_options import GlobalOptions
from tamis.admin.output import Printer
from tamis.admin.progress import Advance, progress
from tamis.admin.terminal import coloured, shown, wants_colour

if TYPE_CHECKING:
    from tamis.broker.configuration import Settings
    from tamis.broker.settings_files import Loaded


class Session:
    """What a command needs beyond its own options. The configuration is read when it is first asked for."""

    def __init__(self, arguments: Sequence[str] = ()) -> None:
        self.arguments = arguments
        """As they were given."""
        self.options = GlobalOptions()

    @property
    def settings(self) -> "Settings":
        return self.configuration.settings

    @cached_property
    def configuration(self) -> "Loaded":
        """The settings, and where each of them came from. A production context is announced."""
        from tamis.broker.settings_files import load

        self._listen()
        loaded = load(self._flags(), file=self.options.config, context=self.options.context)
        if loaded.production:
            self._production(loaded.context or "")
        return loaded

    @property
    def whereabouts(self) -> str:
        """Which Kafka was asked, and who said so: what to look at if it does not answer."""
        loaded = self.__dict__.get("configuration")
        if loaded is None:
            return ""
        origin = loaded.origins.get(("kafka", "bootstrap_servers"), "default")
        return f". Kafka is looked for at {loaded.settings.kafka.bootstrap_servers} ({origin})."

    @cached_property
    def out(self) -> Printer:
        """Where data goes."""
        return Printer(self.options.output, colour=wants_colour(sys.stdout))

    def say(self, line: str) -> None:
        """Talk, for people; nobody waits for it."""
        if not self.options.quiet:
            say(line)

    def confirm(self, question: str) -> None:
        """Ask before something that cannot be taken back: return for yes, and raise else."""
        if self.options.yes:
            return
        if self.options.no_input or not sys.stdin.isatty():
            raise UsageError(f"{question} Nobody can be asked here: say --yes, or --dry-run to see what would be done.")
        if not typer.confirm(self._prompt(question), err=True):
            raise DeclinedError("Nothing was changed.")

    def progress(self, what: str, total: int | None = None) -> AbstractContextManager[Advance]:
        """Counts long work; nothing is shown with --quiet unless it was asked for as JSON."""
        kind = self.options.progress
        return progress(kind.NONE if self.options.quiet and kind is kind.AUTO else kind, what, total)

    def _listen(self) -> None:
        """What is logged repeats what errors tell, or tells of what is expected: it is for --debug."""
        if self.options.debug:
            logging.basicConfig(level=logging.INFO, stream=sys.stderr, format="%(levelname)s %(name)s: %(message)s")
        logging.getLogger("tamis.broker").addHandler(logging.NullHandler())

    def _flags(self) -> dict[tuple[str, ...], tuple[str, str]]:
        """Settings by their path: value, and the flag that gave it."""
        flags: dict[tuple[str, ...], tuple[str, str]] = {}
        if self.options.bootstrap_server is not None:
            flags["kafka", "bootstrap_servers"] = (self.options.bootstrap_server, "--bootstrap-server")
        for given in self.options.properties:
            key, equals, value = given.partition("=")
            if not key or not equals:
                raise UsageError(f"-X {given} is not KEY=VALUE, as in -X security.protocol=SSL.")
            flags["kafka", "extra", key] = (value, "-X")
        return flags

    def _production(self, name: str) -> None:
        line = f"The context {shown(name)} is production."
        say(coloured(line, "red") if wants_colour(sys.stderr) else line)

    def _prompt(self, question: str) -> str:
        if not self.configuration.production:
            return question
        question = f"Production ({shown(self.configuration.context or '')}): {question}"
        return coloured(question, "red") if wants_colour(sys.stderr) else question


def session_of(context: typer.Context) -> Session:
    session = context.find_root().obj
    assert isinstance(session, Session)
    return session


def say(line: str) -> None:
    """A line on stderr; if nobody listens, that is no reason to stop."""
    with suppress(BrokenPipeError):
        typer.echo(line, err=True)

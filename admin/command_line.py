"""How commands are declared: typer's own way, and every one of them takes the global options too.

Commands are imported when they are called, so that `tamis --help` answers at once; what it prints of them is in the
table that the root is made of.
"""

import importlib
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup

from tamis.admin.global_options import parameters
from tamis.admin.session import session_of

Function = TypeVar("Function", bound=Callable[..., Any])
_ANY_COMMAND = "Every command also takes the options that `tamis --help` lists, such as -o json and --context."
_OPTIONS: dict[str, Any] = {
    "add_completion": False,
    "context_settings": {"help_option_names": ["-h", "--help"]},
    "pretty_exceptions_enable": False,
    "rich_markup_mode": None,
}


@dataclass(frozen=True)
class Entry:
    """A top-level command that is not imported yet: the module whose `app` it is, and one line of help."""

    module: str
    help: str


class Command(TyperCommand):
    """One command."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *_unlisted()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        _take_global_options(ctx)
        return rest

    def format_options(self, ctx: Any, formatter: Any) -> None:
        super().format_options(ctx, formatter)
        formatter.write_paragraph()
        formatter.write_text(_ANY_COMMAND)


class Group(TyperGroup):
    """Commands about one thing."""

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *_unlisted()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        _take_global_options(ctx)
        return rest


class Root(TyperGroup):
    """The command itself, whose commands are imported one by one."""

    entries: Mapping[str, Entry] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands = _Imported(self.entries)

    def get_params(self, ctx: Any) -> list[Any]:
        return [*super().get_params(ctx), *parameters().values()]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        _take_global_options(ctx)
        return rest

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - typer's signature
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in self.entries.items()])


class Commands(typer.Typer):
    """A typer app whose commands take the global options."""

    def command(self, name: str | None = None, **options: Any) -> Callable[[Function], Function]:
        return super().command(name, **{"cls": Command, **options})


def single() -> Commands:
    """The app of a module with one command."""
    return Commands(**_OPTIONS)


def group(help: str) -> Commands:
    """The app of a module with several."""
    return Commands(cls=Group, help=help, no_args_is_help=True, callback=_nothing, **_OPTIONS)


def _nothing() -> None:
    """What makes typer take an app for a group, also if it has one command."""


class _Imported(MutableMapping[str, Any]):
    """Commands by name; each is imported when it is asked for."""

    def __init__(self, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._there: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        if name not in self._there:
            app = importlib.import_module(self._entries[name].module).app
            command = typer.main.get_command(app)
            command.name = name
            self._there[name] = command
        return self._there[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._there[name] = command

    def __delitem__(self, name: str) -> None:
        del self._there[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


@cache
def _unlisted() -> list[Any]:
    """The global options, as a command's own help leaves them out: there are many of them."""
    unlisted = [copy(parameter) for parameter in parameters().values()]
    for parameter in unlisted:
        parameter.hidden = True
    return unlisted


def _take_global_options(context: Any) -> None:
    """Out of a command's own parameters, into the session."""
    values = {name: context.params.pop(name, None) for name in parameters()}
    given = {name: value for name, value in values.items() if value not in (None, [], ())}
    session = session_of(context)
    session.options = session.options.over(given)

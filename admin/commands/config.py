"""`tamis config`: what the configuration is, and where it came from."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from tamis.admin.command_line import group
from tamis.admin.output import Column
from tamis.admin.session import session_of

app = group("Show the configuration, and where it came from.")

_HIDDEN = "***"


@app.command(
    epilog="""\b
Examples:
  tamis config show --origin              what is in force, and who said so
  tamis --context prod config show        as it would be with that context
"""
)
def show(
    context: typer.Context,
    origin: Annotated[bool, typer.Option("--origin", help="Print where each value came from.")] = False,
) -> None:
    """Print every setting that is in force; secrets are not shown."""
    from tamis.broker.settings_files import DEFAULT
    from tamis.broker.settings_keys import Key, masked, spelled

    def settings_in(values: Mapping[str, Any], above: Key = ()) -> Iterator[tuple[Key, Any]]:
        for name, value in values.items():
            key = (*above, name)
            if isinstance(value, Mapping) and value:
                yield from settings_in(value, key)
            else:
                yield key, value

    session = session_of(context)
    loaded = session.configuration
    rows = [
        {
            "key": spelled(key),
            "value": _HIDDEN if key in loaded.secrets else masked(key, value),
            "origin": loaded.origins.get(key, DEFAULT),
        }
        for key, value in settings_in(loaded.settings.model_dump(mode="json"))
    ]
    session.out.rows(rows, [Column("key"), Column("value"), Column("origin", wide=not origin)])

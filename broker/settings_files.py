"""Reading the configuration from where it is written, and telling where each setting came from.

From the strongest to the weakest: flags, the environment (`TAMIS_KAFKA__BOOTSTRAP_SERVERS`), `tamis.toml` in this
folder or one above it, the user's `config.toml` (its current context, then what stands outside of contexts), defaults.
A context that was asked for by name is as strong as whoever named it. Settings are merged one by one, not by table.

What is read is checked against the model key by key before it is merged, so that a wrong key is refused with the file
that has it, also in a context that is not in use.
"""

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from tamis.broker.configuration import Settings
from tamis.broker.errors import ConfigurationError, MissingError
from tamis.broker.settings_keys import (
    Key,
    Problem,
    SecretText,
    at_variable,
    is_secret,
    leaves,
    masked,
    nearest,
    spelled,
)

DEFAULT = "default"
PROJECT_FILE = "tamis.toml"
_PREFIX = "TAMIS_"
_CONTEXT_VARIABLE = "TAMIS_CONTEXT"
_FILE_VARIABLE = "TAMIS_CONFIG"

Layer = dict[Key, tuple[Any, str]]
"""Settings by their path: the value, and where it came from."""


@dataclass(frozen=True)
class Loaded:
    """The settings, and how they came about."""

    settings: Settings
    origins: Mapping[Key, str]
    """Of what is no default."""
    secrets: frozenset[Key]
    """What was read from a file of its own, so is not to be shown whatever it is called."""
    context: str | None = None
    production: bool = False
    """Whether the context says that it is."""


@dataclass(frozen=True)
class _Written:
    """A file of configuration, taken apart."""

    path: Path
    layer: Layer
    contexts: Mapping[str, tuple[Layer, bool]]
    """By name: its settings, and whether it is production."""
    current: str | None


def load(
    flags: Mapping[Key, tuple[Any, str]] | None = None,
    *,
    file: Path | None = None,
    context: str | None = None,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Loaded:
    """The settings of this process. `flags` are by their path: the value, and the flag that gave it.

    `file` is read instead of all others, `context` is one of that file's or of the user's.
    """
    environment = os.environ if environment is None else environment
    flag_layer = {key: (value, f"flag {origin}") for key, (value, origin) in (flags or {}).items()}
    _refuse_secret_flags(flag_layer)
    environment_layer = _read_environment(environment)
    if file is None and environment.get(_FILE_VARIABLE):
        file = Path(environment[_FILE_VARIABLE]).expanduser()
    if file is None:
        project, user = _project_file(folder or Path.cwd()), _user_file(environment)
    else:
        project, user = None, _read_file(file)
    weakest = [] if user is None else [user.layer]
    middle = [] if project is None else [project.layer]
    named = context or environment.get(_CONTEXT_VARIABLE)
    chosen = named or (None if user is None else user.current)
    production = False
    of_context: Layer = {}
    if chosen is not None:
        of_context, production = _context(user, chosen)
    if context is not None:
        layers = [*weakest, *middle, environment_layer, of_context, flag_layer]
    elif named is not None:
        layers = [*weakest, *middle, of_context, environment_layer, flag_layer]
    else:
        layers = [*weakest, of_context, *middle, environment_layer, flag_layer]
    merged: Layer = {}
    for layer in layers:
        merged.update(layer)
    return Loaded(
        settings=_validated(merged),
        origins={key: origin for key, (_value, origin) in merged.items()},
        secrets=frozenset(key for key, (value, _origin) in merged.items() if isinstance(value, SecretText)),
        context=chosen,
        production=production,
    )


def _read_file(path: Path) -> _Written:
    try:
        with path.open("rb") as file:
            document = tomllib.load(file)
    except FileNotFoundError as error:
        raise MissingError(f"There is no file {path}.") from error
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigurationError(f"{path} is no TOML: {error}.") from error
    try:
        contexts = _contexts(document.pop("contexts", {}), path)
        current = _current(document.pop("current", None), contexts)
        return _Written(path, _layer(document, path.parent, str(path)), contexts, current)
    except Problem as problem:
        raise ConfigurationError(f"{path}: {problem}") from None


def _current(name: Any, contexts: Mapping[str, Any]) -> str | None:
    if name is None or name in contexts:
        return None if name is None else str(name)
    raise Problem(f"current is {name!r}, and there is no such context. {nearest(str(name), contexts)}")


def _contexts(tables: Any, path: Path) -> dict[str, tuple[Layer, bool]]:
    if not isinstance(tables, Mapping) or not all(isinstance(table, Mapping) for table in tables.values()):
        raise Problem("contexts are tables: [contexts.NAME]")
    contexts: dict[str, tuple[Layer, bool]] = {}
    for name, table in tables.items():
        settings = dict(table)
        production = settings.pop("production", False)
        if not isinstance(production, bool):
            raise Problem(f"contexts.{name}.production is true or false")
        contexts[name] = (_layer(settings, path.parent, f"{path}, context {name}"), production)
    return contexts


def _layer(document: Mapping[str, Any], folder: Path, origin: str) -> Layer:
    layer: Layer = {}
    for key, value in leaves(document, Settings, folder):
        if key in layer:
            raise Problem(f"{spelled(key)} is given twice: itself, and by a file")
        layer[key] = (value, origin)
    return layer


def _read_environment(environment: Mapping[str, str]) -> Layer:
    """Variables of one word that is no setting are somebody else's; of several words they are spelling mistakes."""
    layer: Layer = {}
    for name, text in sorted(environment.items()):
        parts = name.removeprefix(_PREFIX).split("__")
        if not name.startswith(_PREFIX) or (len(parts) == 1 and not _is_setting(parts[0].lower())):
            continue
        try:
            layer.update(_layer(at_variable(parts, text, Settings), Path.cwd(), f"environment {name}"))
        except Problem as problem:
            raise ConfigurationError(f"{name}: {problem}") from None
    return layer


def _is_setting(name: str) -> bool:
    return name.removesuffix("_file") in Settings.model_fields


def _project_file(folder: Path) -> _Written | None:
    """The nearest one upward. Contexts are the user's affair, so it has none."""
    for place in (folder, *folder.parents):
        path = place / PROJECT_FILE
        if path.is_file():
            written = _read_file(path)
            if written.contexts or written.current:
                raise ConfigurationError(
                    f"{path}: contexts belong into your own file, ~/.config/tamis/config.toml, or one for --config."
                )
            return written
    return None


def _user_file(environment: Mapping[str, str]) -> _Written | None:
    """`$XDG_CONFIG_HOME/tamis/config.toml`, by default below `~/.config`."""
    base = Path(environment.get("XDG_CONFIG_HOME", ""))
    if not base.is_absolute():  # the XDG specification: a relative path is to be ignored
        base = Path(environment.get("HOME", "~")).expanduser() / ".config"
    path = base / "tamis" / "config.toml"
    return _read_file(path) if path.is_file() else None


def _context(written: _Written | None, name: str) -> tuple[Layer, bool]:
    if written is None:
        raise MissingError(
            f"There is no context {name}: no file has any. Write [contexts.{name}] into ~/.config/tamis/config.toml."
        )
    if name not in written.contexts:
        raise MissingError(f"{written.path} has no context {name}. {nearest(name, written.contexts)}")
    return written.contexts[name]


def _refuse_secret_flags(flags: Layer) -> None:
    for key in flags:
        if is_secret(key):
            variable = "__".join((*key[:-1], key[-1].replace(".", "_"))).upper()
            raise ConfigurationError(
                f"{key[-1]} is a secret, and what is on a command line is seen by everyone on the machine. Set "
                f"{_PREFIX}{variable}, or name a file with it: {spelled((*key[:-2], 'extra_files', key[-1]))}."
            )


def _validated(merged: Layer) -> Settings:
    document: dict[str, Any] = {}
    for key, (value, _origin) in merged.items():
        table = document
        for part in key[:-1]:
            table = table.setdefault(part, {})
        table[key[-1]] = str(value) if isinstance(value, SecretText) else value
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        lines = [
            _told(found["loc"], found["msg"], merged) for found in error.errors(include_input=False, include_url=False)
        ]
        raise ConfigurationError("\n".join(lines)) from None


def _told(location: tuple[int | str, ...], message: str, merged: Layer) -> str:
    """What the model says about a value, with the place where it is written. The value itself may be a secret."""
    path = tuple(map(str, location))
    near = [key for key in merged if key[: len(path)] == path or path[: len(key)] == key]
    reason = message.removeprefix("Value error, ")
    if not near:
        return f"{spelled(path)}: {reason}."
    key = next((key for key in near if key[-1] in message), near[0])
    value, origin = merged[key]
    shown = "***" if isinstance(value, SecretText) else masked(key, value)
    return f"{spelled(key)} = {shown!r} ({origin}): {reason}."

"""The keys of the configuration: which there are, how they are spelt, and which of them are secrets."""

import difflib
import json
import re
import types
import typing
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum, auto
from pathlib import Path
from typing import Any, NewType
from urllib.parse import unquote_plus

from pydantic import BaseModel

Key = tuple[str, ...]
"""A path into the settings."""
Location = NewType("Location", str)
"""A path, or the URL of a folder somewhere else."""

_BARE = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_SECRET = re.compile(
    r"password|passphrase|secret|token(?!\.endpoint)|credential|jaas|user\.info|oauthbearer\.config|\.pem$", re.ASCII
)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/", re.ASCII)
_URL_PASSWORD = re.compile(r"(://[^/?#@]*?:)[^/?#]*(@)")
# Also of what is no URL, since that is told when it is refused: without a scheme, or with a slash in the password.
_ODD_PASSWORD = re.compile(r"^((?:[A-Za-z][A-Za-z0-9+.-]*://)?[^/?#@]*?:(?!//)).*(@)", re.ASCII | re.DOTALL)
_URL_OPTION = re.compile(r"([?&]([^=&]*)=)[^&]*")
_HIDDEN = "***"


class Problem(Exception):  # noqa: N818 - it is raised on as an error that tells the file
    """A key that is wrong, and why; where it stands is known to the caller."""


class _Kind(Enum):
    SECTION = auto()
    SECTIONS = auto()
    """By names of the user's."""
    VALUES = auto()
    """By names of a library's."""
    PATH = auto()
    VALUE = auto()


class SecretText(str):
    """Text that was read from a file of its own."""

    __slots__ = ()


def spelled(key: Key) -> str:
    """As TOML has it."""
    return ".".join(part if _BARE.fullmatch(part) else f'"{part}"' for part in key)


def nearest(word: str, words: Iterable[str]) -> str:
    """A sentence that proposes the one that was meant, or tells which there are."""
    known = sorted(words)
    close = difflib.get_close_matches(word, known, n=1)
    if close:
        return f"Did you mean {close[0]}?"
    return f"There are: {', '.join(known)}." if known else "There is none."


def is_secret(key: Key) -> bool:
    """Whether its value is one, by its name."""
    return key[-2:-1] == ("extra",) and _SECRET.search(key[-1].lower()) is not None


def masked(key: Key, value: Any) -> Any:
    """As it may be printed."""
    if value is None:
        return None
    if is_secret(key):
        return _HIDDEN
    return _masked_url(value) if isinstance(value, str) else value


def _masked_url(text: str) -> str:
    """Without a password before its host, and without secrets among the options behind its question mark."""

    def option(found: re.Match[str]) -> str:
        return found[1] + _HIDDEN if _SECRET.search(unquote_plus(found[2]).lower()) else found[0]

    text = _URL_OPTION.sub(option, text)
    for pattern in (_URL_PASSWORD, _ODD_PASSWORD):
        text = pattern.sub(rf"\1{_HIDDEN}\2", text)
    return text


def leaves(
    document: Mapping[str, Any], model: type[BaseModel], folder: Path, above: Key = ()
) -> Iterator[tuple[Key, Any]]:
    """The settings in it, by their paths; those that name a file with a secret in it are read.

    A relative path is one below `folder`. Problem if a key is not known, or is a table where none belongs, or none
    where one does; whether a value is good is the model's affair.
    """
    for name, value in document.items():
        key = (*above, name)
        field = model.model_fields.get(name)
        if field is None:
            yield from _from_files(key, value, model, folder)
            continue
        kind, inner = _kind_of(field.annotation)
        if kind in (_Kind.SECTION, _Kind.SECTIONS, _Kind.VALUES):
            table = _table(key, value)
            if kind is _Kind.SECTION:
                yield from leaves(table, inner, folder, key)
            elif kind is _Kind.SECTIONS:
                for own, section in table.items():
                    yield from leaves(_table((*key, own), section), inner, folder, (*key, own))
            else:
                yield from (((*key, own), of_own) for own, of_own in table.items())
        elif isinstance(value, Mapping):
            raise Problem(f"{spelled(key)} is one value, not a table")
        else:
            is_path = kind is _Kind.PATH and isinstance(value, str) and not _URL.match(value)
            yield key, str(folder / value) if is_path else value


def at_variable(parts: Sequence[str], text: str, model: type[BaseModel]) -> dict[str, Any]:
    """The document that a variable stands for: its name's parts lead to one setting, or to a table, written as JSON.

    A library's own names, which have points where variables may have none, are written with `_` for each.
    """
    name, *rest = parts[0].lower(), *parts[1:]
    of_files = name.removesuffix("_files")
    field = model.model_fields.get(of_files if _kind_in(model, of_files) is _Kind.VALUES else name)
    kind, inner = _kind_of(str if field is None else field.annotation)
    if kind in (_Kind.VALUE, _Kind.PATH):
        if rest:
            raise Problem(f"{name} is one value, and {'__'.join(rest)} leads on. {nearest(name, model.model_fields)}")
        return {name: text}
    if not rest:
        return {name: _json_table(name, text)}
    if kind is _Kind.SECTION:
        return {name: at_variable(rest, text, inner)}
    if kind is _Kind.SECTIONS:
        raise Problem(f"variables have no room for the names in {name}: give the whole table, as JSON")
    own = "__".join(rest).lower()
    extra = None if field is None else field.json_schema_extra
    return {name: {own.replace("_", ".") if isinstance(extra, dict) and extra.get("points") else own: text}}


def _from_files(key: Key, value: Any, model: type[BaseModel], folder: Path) -> Iterator[tuple[Key, Any]]:
    """`x_file` is a file that holds the value of `x`, `x_files` is a table of such, by the names in the table `x`."""
    name = key[-1]
    of_file, of_files = name.removesuffix("_file"), name.removesuffix("_files")
    if of_file != name and _kind_in(model, of_file) is _Kind.VALUE:
        yield (*key[:-1], of_file), _content(key, value, folder)
    elif of_files != name and _kind_in(model, of_files) is _Kind.VALUES:
        for own, path in _table(key, value).items():
            yield (*key[:-1], of_files, own), _content((*key, own), path, folder)
    else:
        raise Problem(f"there is no {spelled(key)}. {nearest(name, model.model_fields)}")


def _content(key: Key, path: Any, folder: Path) -> SecretText:
    if not isinstance(path, str):
        raise Problem(f"{spelled(key)} is the path of a file, not {path!r}")
    file = folder / Path(path).expanduser()
    try:
        return SecretText(file.read_text(encoding="utf-8").removesuffix("\n"))
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no UTF-8"
        raise Problem(f"{spelled(key)} names {file}, which cannot be read: {reason}") from error


def _json_table(name: str, text: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise Problem(f"{name} is a table: give it as JSON, or one setting of it by __ and its name")
    return found


def _table(key: Key, value: Any) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise Problem(f"{spelled(key)} is a table, not {type(value).__name__}")
    return value


def _kind_in(model: type[BaseModel], name: str) -> _Kind | None:
    field = model.model_fields.get(name)
    return None if field is None else _kind_of(field.annotation)[0]


def _kind_of(annotation: Any) -> tuple[_Kind, Any]:
    """And the model of its sections, if it has any."""
    if isinstance(annotation, types.UnionType) or typing.get_origin(annotation) is typing.Union:
        kinds = [_kind_of(member) for member in typing.get_args(annotation) if member is not types.NoneType]
        return kinds[0]
    if typing.get_origin(annotation) is dict:
        _keys, values = typing.get_args(annotation)
        kind, inner = _kind_of(values)
        return (_Kind.SECTIONS, inner) if kind is _Kind.SECTION else (_Kind.VALUES, None)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return _Kind.SECTION, annotation
    return (_Kind.PATH, None) if annotation in (Path, Location) else (_Kind.VALUE, None)

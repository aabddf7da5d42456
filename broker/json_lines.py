"""Lines of JSON objects, read without believing anything of them."""

import json
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import islice
from typing import Any, BinaryIO, NoReturn, TypeVar

LINE_BYTES_MAX = 32 << 20
_SHOWN = 80
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class WrongLine:
    """A line that cannot be taken, counted from 1, and why."""

    line: int
    reason: str


class LineError(ValueError):
    """Why a line cannot be taken."""


def numbered_lines(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Those that are not blank. Of one that is too long, as much as shows that it is."""
    line = 0
    while text := source.readline(LINE_BYTES_MAX + 1):
        line += 1
        if not text.isspace():
            yield line, text
        while len(text) > LINE_BYTES_MAX and not text.endswith(b"\n"):
            text = source.readline(LINE_BYTES_MAX + 1)


def in_batches(items: Iterable[Item], size: int) -> Iterator[list[Item]]:
    source = iter(items)
    while some := list(islice(source, size)):
        yield some


def object_of(text: bytes | str, keys: Collection[str], required: str) -> dict[str, Any]:
    """LineError if it is no JSON object, has other keys than these, or lacks the required one."""
    if len(text) > LINE_BYTES_MAX:
        raise LineError(f"it is longer than {LINE_BYTES_MAX} bytes")
    found = _loaded(text)
    if not isinstance(found, dict):
        raise LineError(f"a line is a JSON object, not {_shown(found)}")
    for key in found:
        if key not in keys:
            near = get_close_matches(key, keys, n=1)
            hint = f"; did you mean {near[0]!r}?" if near else ""
            raise LineError(f"{key!r} is none of its keys, which are {', '.join(keys)}{hint}")
    if found.get(required) is None:
        raise LineError(f"{required!r} is missing")
    return found


def typed(found: dict[str, Any], key: str, kind: type[Item], default: Item | None = None) -> Item | None:
    """The value of a key, or the default where it is missing or null. LineError if it is of another type."""
    value = found.get(key)
    if value is None:
        return default
    if not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise LineError(f"{key!r} is {_TYPES[kind]}, not {_shown(value)}")
    return value


_TYPES: dict[type, str] = {str: "a string", bool: "true or false", dict: "an object"}


def _loaded(text: bytes | str) -> Any:
    try:
        whole = (text if isinstance(text, str) else text.decode()).strip()
        found, end = _DECODER.raw_decode(whole)
    except json.JSONDecodeError as error:
        raise LineError(f"it is not JSON: {error.msg} at column {error.colno}") from None
    except UnicodeDecodeError:
        raise LineError("it is not UTF-8") from None
    except RecursionError:
        raise LineError("it is nested too deeply") from None
    except ValueError as error:
        raise LineError(f"it cannot be read: {error}") from None
    if end != len(whole):
        raise LineError(f"it is not JSON: something follows the object at column {end + 1}")
    return found


def _refuse_constant(text: str) -> NoReturn:
    raise LineError(f"it is not JSON: {text}")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _shown(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _SHOWN else text[:_SHOWN] + "..."

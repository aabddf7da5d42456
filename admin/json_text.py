"""Plain values as JSON that every reader takes."""

import json
import math
from collections.abc import Mapping
from typing import Any


def compact(value: Any) -> str:
    """On one line. Infinity, which JSON has not, is a number that readers round to it; NaN is null."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=str)
    except ValueError:
        return _written(value)


def indented(value: Any) -> str:
    """On several lines, for people."""
    try:
        return json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2, default=str)
    except ValueError:
        return _written(value)


def _written(value: Any) -> str:
    match value:
        case Mapping():
            return f"{{{','.join(f'{compact(str(key))}:{_written(of_key)}' for key, of_key in value.items())}}}"
        case list() | tuple():
            return f"[{','.join(map(_written, value))}]"
        case float() if math.isnan(value):
            return "null"
        case float() if math.isinf(value):
            return "1e999" if value > 0 else "-1e999"
        case _:
            return compact(value)

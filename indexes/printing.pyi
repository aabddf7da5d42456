from typing import NamedTuple

from tamis.indexes.values import Value

OPERATORS: tuple[str, ...]

class Predicate(NamedTuple):
    attribute: str
    operator: str
    operands: tuple[Value, ...]
    weight: float = 1.0

def predicate_text(predicate: Predicate) -> str: ...

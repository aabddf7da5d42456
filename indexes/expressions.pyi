from collections.abc import Mapping
from typing import Any, NamedTuple, final

from tamis.indexes.limits import Limits
from tamis.indexes.values import Value
from tamis.indexes.vocabulary import Vocabulary

OPERATORS: tuple[str, ...]
GROWTH: int
DEFAULT_LIMITS: Limits
UNBOUNDED: Limits

class Predicate(NamedTuple):
    attribute: str
    operator: str
    operands: tuple[Value, ...]
    weight: float = 1.0

@final
class Expression:
    @property
    def vocabulary(self) -> Vocabulary: ...
    @property
    def text(self) -> str: ...
    @property
    def predicates(self) -> tuple[Predicate, ...]: ...
    def evaluate(self, event: Mapping[str, Any], /) -> bool | None: ...
    def memory_bytes(self) -> int: ...
    def __eq__(self, other: object, /) -> bool: ...
    def __hash__(self) -> int: ...

def predicate_text(predicate: Predicate) -> str: ...
def parse(text: str, limits: Limits = ...) -> Expression: ...

"""Why an expression does or does not hold for an event."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from tamis.indexes.spelling import literal_text
from tamis.indexes.values import Value

_VERDICTS = {True: "true", False: "false", None: "unknown"}


@dataclass(frozen=True, slots=True)
class Explanation:
    """A part of an expression, what it came to, and why; printed as a tree, a line a part."""

    text: str
    """Canonical."""
    verdict: bool | None
    """None: the event leaves it open."""
    state: Literal["value", "missing", "foreign"] | None
    """Of a predicate's attribute: it has a value, none, or one of another family than the operands."""
    value: Value | None
    """What the event holds there."""
    children: tuple["Explanation", ...]

    def __str__(self) -> str:
        return "\n".join(self._lines(""))

    def _lines(self, indent: str) -> Iterator[str]:
        reason = ""
        if self.state == "missing":
            reason = "  (missing)"
        elif self.value is not None:
            reason = f"  ({literal_text(self.value)}{', of another type' if self.state == 'foreign' else ''})"
        yield f"{_VERDICTS[self.verdict]:8}{indent}{self.text}{reason}"
        for child in self.children:
            yield from child._lines(indent + "  ")  # noqa: SLF001 - its own class's

"""The errors of this layer."""

from collections.abc import Sequence


class ExpressionError(ValueError):
    """A text that is no expression, and where.

    `column` counts code points from 1; at the end of the text it is one more than there are, and `found` is "end of
    text". `expected` is what could stand there instead, if the grammar was broken rather than a rule.
    """

    def __init__(self, message: str, *, column: int, found: str, expected: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.column = column
        self.found = found
        self.expected = tuple(expected)


class EventError(ValueError):
    """An event that cannot be matched; the message names the attribute."""

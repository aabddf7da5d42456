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
        self.index: int | None = None
        """Which one of many texts it was, where many were given."""


class EventError(ValueError):
    """An event that cannot be matched; the message names the attribute."""


class StaleBatchError(RuntimeError):
    """A batch that was made with an index's vocabulary, before expressions came or went."""


class IndexBusy(RuntimeError):  # noqa: N818 - it is no fault, only too early
    """A write while a match or another write runs, or the reverse."""


class IndexBroken(RuntimeError):  # noqa: N818 - it is no fault of the call
    """An index that memory ran out of while it was changed: what it holds is not known, and it says nothing more."""


class SnapshotError(ValueError):
    """A file that is no snapshot, or a damaged one, or one of another format."""

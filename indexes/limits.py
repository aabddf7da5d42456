"""What an expression may cost."""

from dataclasses import dataclass, fields

_DEPTH_BOUND = 1000


@dataclass(frozen=True)
class Limits:
    """Each bound is within the limit; what exceeds one is refused with its reason."""

    text_bytes: int = 64 * 1024
    """Of the text, and of its canonical form, as UTF-8."""
    predicates: int = 4096
    depth: int = 64
    """Each `(` of a group and each `not` counts one."""
    set_members: int = 10_000
    """Before duplicates go."""
    pattern_characters: int = 256
    """Of a regular expression."""
    pattern_bytes: int = 1 << 20
    """Memory of its compiled program."""

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if not 1 <= value < 2**28:
                raise ValueError(f"limit {field.name} = {value} is out of range: 1 to {2**28 - 1}")
        if self.depth > _DEPTH_BOUND:
            raise ValueError(f"limit depth = {self.depth} is out of range: 1 to {_DEPTH_BOUND}, the stack's bound")

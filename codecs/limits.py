"""What a message and a schema may cost."""

from dataclasses import dataclass, fields

_BOUND = 2**30
_DEPTH_BOUND = 100
"""Decoders and the readers of schemas call themselves for each level."""


@dataclass(frozen=True)
class DecodingLimits:
    """Each bound is within the limit; a message that exceeds one is refused with its reason."""

    message_bytes: int = 16 << 20
    depth: int = 64
    """Of JSON: the outermost object is one."""
    items: int = 1_000_000
    """Members of objects, entries of maps and elements of arrays, together, skipped ones too."""
    attributes: int = 4096
    """Values that are not missing, and weights; whether anyone asks about them or not."""
    string_bytes: int = 1 << 20
    name_bytes: int = 1024
    """Of an attribute's name, flattened; no fewer than `$partition` has."""

    def __post_init__(self) -> None:
        _check(self)


@dataclass(frozen=True)
class SchemaLimits:
    """What an Avro schema may have; SchemaError beyond."""

    text_bytes: int = 1 << 20
    depth: int = 64
    """Of types in each other: records, unions, arrays and maps count one each."""
    nodes: int = 20_000
    """Types, each counted wherever it stands: a named type that is used twice counts twice."""

    def __post_init__(self) -> None:
        _check(self)


def _check(limits: DecodingLimits | SchemaLimits) -> None:
    for field in fields(limits):
        value = getattr(limits, field.name)
        bound = _DEPTH_BOUND if field.name == "depth" else _BOUND
        least = len("$partition") if field.name == "name_bytes" else 1
        if not least <= value <= bound:
            raise ValueError(f"limit {field.name} = {value} is out of range: {least} to {bound}")

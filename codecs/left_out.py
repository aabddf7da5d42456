"""What decoding tells beside the events."""

from dataclasses import dataclass


@dataclass(frozen=True)
class LeftOut:
    """What events had and their batch has not; counted over the events that were taken."""

    reserved: int
    """Attributes of an event's own that begin with `$`."""
    collisions: int
    """Values whose name another value of the event had before them, once both were flattened."""
    arrays: int
    """Arrays, each with all that is in it."""
    binaries: int
    """Bytes and fixed that are no decimals."""

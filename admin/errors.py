"""The errors of the command layer: what happened, why, and what to do next."""


class StackError(Exception):
    """The local stack cannot do what was asked; the message ends with what to do about it."""

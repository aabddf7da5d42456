"""The errors of the command layer: what happened, why, and what to do next."""


class StackError(Exception):
    """The local stack cannot do what was asked; the message ends with what to do about it."""


class UsageError(Exception):
    """Options that do not go together, found after they were read one by one."""


class DeclinedError(Exception):
    """A question was answered with no."""

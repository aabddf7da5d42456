"""The errors of this layer: what happened, why, and what to do next. The command line gives each class an exit code."""


class BrokerError(Exception):
    """What a user can mend; the message says how."""


class ConfigurationError(BrokerError):
    """A setting is wrong; the message names it and where it comes from."""


class UnreachableError(BrokerError):
    """Kafka or Redis does not answer, or not in time."""


class MissingError(BrokerError):
    """Something that was named does not exist."""


class ConflictError(BrokerError):
    """Something is there already, or is held by somebody else, or disagrees with what is written."""


class InvalidError(BrokerError):
    """Something that was given cannot be taken."""

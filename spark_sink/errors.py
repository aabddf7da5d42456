"""The errors of archives and replays: what happened, why, and what to do next."""

from tamis.broker.errors import BrokerError, ConflictError


class ArchiveError(BrokerError):
    """The archive cannot go on as things are."""


class LostError(ArchiveError):
    """Kafka no longer has records that the archive has not."""


class OvertakenError(ConflictError):
    """A newer archiver has taken over."""

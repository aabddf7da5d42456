"""How notifications are written."""

from enum import StrEnum


class NotificationFormat(StrEnum):
    """One for a whole cluster."""

    AVRO = "avro"
    """`schemas/notification-*.avsc`, in single-object encoding; the event's bytes as they came."""
    JSON = "json"
    """An object of the same fields; the event, which is JSON, as a value in it. For kcat and jq."""

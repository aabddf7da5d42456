"""Times as text: in UTC, to the millisecond."""

from datetime import UTC, datetime, timedelta

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def moment(microseconds: int) -> str:
    """Since 1970. What is beyond the calendar stays a number."""
    try:
        time = _EPOCH + timedelta(microseconds=microseconds)
    except OverflowError:
        return str(microseconds)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def kafka_moment(milliseconds: int) -> str | None:
    """A record's timestamp; below 0 it has none."""
    return moment(milliseconds * 1000) if milliseconds >= 0 else None

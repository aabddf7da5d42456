"""How much one transaction takes: as much as it may, and less and less where one cannot pass.

What fails is tried again in smaller parts, ever later: so an event that can never pass ends up alone, and costs little,
and one for many subscribers goes to fewer of them at once, until Kafka is as fast as that.
"""

_PAUSE_SECONDS = 0.01
_PAUSE_SECONDS_MAX = 5.0
_DOUBLINGS_MAX = 10
"""By then a pause is as long as it may be."""


class Pace:
    """Outlives clients, since a transaction that cannot pass may cost them."""

    def __init__(self, most: int) -> None:
        self.limit = most
        """How many events to take."""
        self.failures = 0
        """How often in a row nothing could be committed."""
        self._most = most

    def succeeded(self, done: int, polled: int) -> None:
        """So many of those polled were committed: there was room for no more, if those are fewer.

        Then it comes down by half at most: one event that fills transactions alone says little of those behind it.
        """
        self.failures = 0
        wanted = max(2 * done, self.limit // 2) if done < polled else 2 * self.limit
        self.limit = max(1, min(self._most, wanted))

    def failed(self, done: int) -> float:
        """For how many seconds to wait before the next try."""
        self.failures += 1
        self.limit = max(1, done // 2)
        return min(_PAUSE_SECONDS_MAX, _PAUSE_SECONDS * 2.0 ** min(self.failures, _DOUBLINGS_MAX))

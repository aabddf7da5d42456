"""Whether what cannot be understood is poison, or a wrong schema."""

from collections.abc import Sequence

from tamis.broker.errors import InvalidError
from tamis.codecs.reasons import Refusal

WINDOW = 1000


class RejectedShare:
    """Of the last events that were processed, which were rejected."""

    def __init__(self, most: float) -> None:
        self._most = most
        self._verdicts: list[bool] = []

    def after(self, done: int, refusals: Sequence[Refusal]) -> list[bool]:
        """What there will be to remember when so many messages more are done.

        InvalidError if most of it is rejections: then it is the configuration that is wrong, and not the events.
        """
        refused = {refusal.position for refusal in refusals}
        newest = [position in refused for position in range(max(0, done - WINDOW), done)]
        lately = [*self._verdicts, *newest][-WINDOW:]
        if refused and sum(lately) > self._most * WINDOW:
            raise InvalidError(
                f"{sum(lately)} of the last {len(lately)} events could not be understood, the last of them because "
                f"{refusals[-1].why}. Is the format of its topic configured rightly? "
                "(broker.rejected_share = 1 goes on all the same.)"
            )
        return lately

    def remember(self, verdicts: list[bool]) -> None:
        """What `after` gave, once those messages are committed."""
        self._verdicts = verdicts

"""What topics, groups and producers of one Tamis are called."""

import re
from dataclasses import dataclass

_PREFIX = re.compile(r"[A-Za-z0-9._-]{1,28}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Names:
    """All begin with one prefix, so that a cluster may hold several, and an ACL may name one."""

    prefix: str = "tamis"

    def __post_init__(self) -> None:
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(f"a prefix is 1 to 28 of A-Z a-z 0-9 . - _, not {self.prefix!r}")

    @property
    def layout(self) -> str:
        return f"{self.prefix}.layout"

    @property
    def subscriptions(self) -> str:
        return f"{self.prefix}.subscriptions"

    @property
    def events(self) -> str:
        """The event topic of whoever names none."""
        return f"{self.prefix}.events"

    @property
    def views(self) -> str:
        return f"{self.prefix}.views"

    @property
    def rejected(self) -> str:
        return f"{self.prefix}.rejected"

    @property
    def undelivered(self) -> str:
        return f"{self.prefix}.undelivered"

    @property
    def own(self) -> tuple[str, ...]:
        """The topics of which there is one each."""
        return (self.layout, self.subscriptions, self.views, self.rejected, self.undelivered)

    def notifications(self, subscriber: str) -> str:
        return f"{self.prefix}.notifications.{subscriber}"

    def group(self, layout: int, shard: int) -> str:
        return f"{self.prefix}.{layout}.{shard}"

    def transactional_id(self, layout: int, shard: int, slot: str) -> str:
        return f"{self.prefix}.{layout}.{shard}.{slot}"

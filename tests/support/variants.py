"""Engines set such that they do what they else do with many expressions only."""

from tamis.indexes.pst_hash import PstHash


class EagerPairs(PstHash):
    """Finds by two predicates whatever two can find."""

    name = "pst-hash-eager"

    def __init__(self) -> None:
        super().__init__(pairs_from=0)

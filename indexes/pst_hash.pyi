from typing_extensions import disjoint_base

from tamis.indexes.access_index import AccessIndex

PAIRS_FROM: float

@disjoint_base
class PstHash(AccessIndex):
    def __init__(self, *, pairs_from: float = ...) -> None: ...

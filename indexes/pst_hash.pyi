from tamis.indexes.access_index import AccessIndex

PAIRS_FROM: float

class PstHash(AccessIndex):
    def __init__(self, *, pairs_from: float = ...) -> None: ...

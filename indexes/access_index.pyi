from typing_extensions import disjoint_base

from tamis.indexes.index import Index

@disjoint_base
class AccessIndex(Index): ...

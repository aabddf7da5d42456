from typing_extensions import disjoint_base

from tamis.indexes.matching import Matching

@disjoint_base
class Probe(Matching): ...

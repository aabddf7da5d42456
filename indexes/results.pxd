from tamis.indexes.matching cimport Matching
from tamis.indexes.store cimport ExpressionStore


# `Matches` of the hits, as they are.
cdef object result_of(Matching matching, const ExpressionStore* store, bint scores)

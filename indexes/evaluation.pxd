from libc.stdint cimport uint32_t

from tamis.indexes.truth cimport Truth
from tamis.indexes.vocabulary cimport Vocabulary

# Of events that Python holds, whose values were checked. `names` keeps the attributes' names by their ids.

cdef Truth truth_of(const uint32_t* node, Vocabulary vocabulary, dict names, event) except *
cdef double score_of(const uint32_t* node, Vocabulary vocabulary, dict names, event, weights) except? -1
cdef object explanation_of(const uint32_t* node, Vocabulary vocabulary, dict names, event)

# A weight that an event may give to an attribute.
cdef double checked_weight(name, weight) except? -1

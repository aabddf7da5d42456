from libc.stdint cimport uint32_t

from tamis.indexes.vocabulary cimport StringId, Vocabulary

# The canonical text of a node.
cdef str node_text(const uint32_t* node, Vocabulary vocabulary)
# What a predicate says, for Python.
cdef object predicate_of(const uint32_t* node, Vocabulary vocabulary)
cdef str string_of(StringId id, Vocabulary vocabulary)

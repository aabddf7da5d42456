from libc.stdint cimport uint32_t

from tamis.indexes.expressions cimport Expression


cdef uint32_t id_of(id) except? 0
# Of any sequence, an array of uint32.
cdef object ids_of(ids)

# Of a text, or of what is one already.
cdef Expression parsed_of(expression, limits)
# Of many; a text that is none raises its ExpressionError, whose `index` says which one it is.
cdef object parsed_texts(list texts, limits)
cdef list parsed_items(list items, limits)

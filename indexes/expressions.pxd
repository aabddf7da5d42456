from libc.stdint cimport uint32_t

from tamis.indexes.vocabulary cimport Vocabulary


cdef class Expression:
    cdef readonly Vocabulary vocabulary
    # Owned, with a reference to each string that they name.
    cdef uint32_t* words
    cdef uint32_t size
    # Attribute names by id, made when first asked for.
    cdef dict names

    cdef int adopt(self, Vocabulary vocabulary, const uint32_t* words, size_t size) except -1


# An expression that stands alone, of words under another vocabulary.
cdef Expression translated(Vocabulary vocabulary, const uint32_t* words, size_t size)

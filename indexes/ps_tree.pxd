from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.access_lists cimport PostingList
from tamis.indexes.links cimport LinkSpaces, LinkTable, Pieces
from tamis.indexes.matching cimport Hits
from tamis.indexes.truth cimport Value
from tamis.indexes.vocabulary cimport StringId, Vocabulary


cdef class PSTree:
    cdef Vocabulary vocabulary
    # NO_STRING until it is known.
    cdef StringId attribute_id
    # Owned.
    cdef LinkTable* links
    cdef LinkSpaces* found
    # How many calls read without the GIL.
    cdef int readers
    # Changes with every write.
    cdef size_t writes
    # What a write has in hand: its record, and where its predicate holds.
    cdef vector[uint32_t] record
    cdef Pieces pieces

    cdef const uint32_t* checked(self, const uint32_t* node, Vocabulary vocabulary, StringId attribute) except NULL
    cdef int begin_write(self) except -1
    cdef StringId own_attribute(self, const uint32_t* node, Vocabulary vocabulary) except? 0
    cdef int put(self, const uint32_t* node, Vocabulary vocabulary, uint32_t id) except -1
    cdef bint read(self, const uint32_t* node, Vocabulary vocabulary, uint32_t id, bint interned) except -1
    cdef void release(self, size_t count) noexcept nogil
    cdef int append(self, const Value* value, vector[uint32_t]& ids) except -1 nogil
    cdef int append_sorted(self, const Value* value, Hits& hits) except -1 nogil
    cdef int append_all(
        self, const vector[Value]& asked, bint ordered, vector[uint32_t]& ids, uint64_t* ends
    ) except -1 nogil
    cdef size_t count_of(self, const Value* value) except? 0xFFFFFFFF nogil
    cdef int count_all(self, const vector[Value]& asked, uint64_t* counts) except -1 nogil
    cdef int place_all(self, const vector[Value]& asked, uint64_t* places) except -1 nogil
    cdef size_t count_points(self, const Value* value) except? 0xFFFFFFFF nogil
    cdef object number_each(self, values, bint placed)
    cdef int take(self, values, size_t begin, size_t end, list kept, vector[Value]& asked) except -1
    cdef int read_value(self, value, Value* held) except -1
    cdef const PostingList* point_list(self, const Value* value) noexcept nogil
    cdef int ask_shared(self, const Value* value, vector[uint32_t]& ids) except -1 nogil
    cdef str name(self)

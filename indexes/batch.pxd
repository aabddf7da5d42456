from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.truth cimport Value
from tamis.indexes.vocabulary cimport Vocabulary
from tamis.indexes.words cimport Type


cdef class EventBatch:
    cdef readonly Vocabulary vocabulary
    # Whether the vocabulary is someone else's: then only its attributes were kept, and its generation must not change.
    cdef readonly bint bound
    cdef uint64_t generation
    # An event's entries go from its start to the next one's. No attribute is there twice in an event.
    cdef vector[uint32_t] starts
    cdef vector[uint32_t] attributes
    cdef vector[uint8_t] types
    # A long's or double's bits, 0 or 1, or where a string's length stands in the pool: its bytes follow.
    cdef vector[uint64_t] values
    # A string's id, or NO_STRING.
    cdef vector[uint32_t] strings
    cdef vector[char] pool
    # What events weigh attributes by, where they do; empty if none does.
    cdef vector[uint32_t] weight_starts
    cdef vector[uint32_t] weight_attributes
    cdef vector[double] weights

    # Appending: the entries of an event, then its end.
    cdef int add(self, uint32_t attribute, const Value* value) except -1 nogil
    cdef int add_weight(self, uint32_t attribute, double weight) except -1 nogil
    cdef int end_event(self) except -1 nogil
    cdef uint32_t size(self) noexcept nogil
    cdef Value value_at(self, size_t entry) noexcept nogil

    cdef int add_event(self, event) except -1
    cdef int add_weights(self, weights) except -1
    cdef uint32_t id_of(self, str name) except? 0xFFFFFFFF
    cdef int shrink(self) except -1
    cdef object python_value(self, size_t entry)


# Without events yet: for an index, by its vocabulary; or, without one, for every index.
cdef EventBatch empty_batch(vocabulary)
# One event for an index, by its vocabulary; no weights: None.
cdef EventBatch batch_of_one(event, weights, Vocabulary vocabulary)

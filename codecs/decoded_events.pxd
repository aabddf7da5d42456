from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.batch cimport EventBatch


cdef class DecodedEvents:
    cdef readonly EventBatch batch
    cdef readonly list refusals
    cdef readonly object left_out
    # Of each event in the batch: which message it was, its time, where its id begins. One start more than events.
    cdef vector[uint32_t] event_positions
    cdef vector[int64_t] event_times
    cdef vector[uint64_t] id_starts
    cdef vector[char] ids

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.codecs.batch_pool cimport BatchPool
from tamis.codecs.sink cimport Reason
from tamis.indexes.batch cimport EventBatch

# A message that was refused, and how many bytes of it were understood.
cdef struct Refused:
    uint32_t position   # among all messages
    uint32_t index      # among those of its group
    Reason reason
    uint64_t byte


cdef class DecodedEvents:
    cdef readonly EventBatch batch
    cdef readonly list refusals
    cdef readonly object left_out
    # Of each event in the batch: which message it was, its time, where its id begins. One start more than events.
    cdef vector[uint32_t] event_positions
    cdef vector[int64_t] event_times
    cdef vector[uint64_t] id_starts
    cdef vector[char] ids


cdef class EventDecoder:
    cdef object catalogue
    cdef object limits
    cdef BatchPool pool
    # Calls that are over: the next one begins with what they learned of names.
    cdef list idle

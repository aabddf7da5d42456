from libc.stdint cimport int32_t, int64_t
from libcpp.vector cimport vector


cdef int begin_headers(vector[char]& shared, str topic_id, int32_t partition, int64_t offset) except -1
cdef bytes header_of(const vector[char]& shared, bytes name)

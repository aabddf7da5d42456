from libc.stdint cimport uint32_t

from tamis.indexes.index cimport Index
from tamis.indexes.matching cimport Matching
from tamis.indexes.store cimport WordSegments


cdef class Scan(Index):
    cdef int scan_segment(self, Matching matching, const WordSegments* segments, uint32_t index) except -1 nogil
    cdef int scan_base(self, Matching matching, uint32_t first, uint32_t end) except -1 nogil

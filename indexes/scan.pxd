from libc.stdint cimport uint32_t

from tamis.indexes.index cimport Index
from tamis.indexes.tile cimport Lanes, Tile


cdef class Scan(Index):
    cdef int scan_base(self, Tile tile, uint32_t first, uint32_t end) except -1 nogil
    cdef uint32_t scan_block(self, Tile tile, uint32_t index, uint32_t first) except 0 nogil
    cdef uint32_t end_of_block(self, uint32_t index, uint32_t first) noexcept nogil
    cdef int ask_base(self, Tile tile, uint32_t first, uint32_t end) except -1 nogil
    cdef uint32_t ask_block(self, Tile tile, uint32_t index, uint32_t first) except 0 nogil
    cdef bint add_hits(self, Tile tile, Lanes lanes, uint32_t id) except -1 nogil

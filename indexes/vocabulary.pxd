from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string_view cimport string_view

ctypedef uint32_t StringId

cdef extern from "string_table.hpp" namespace "tamis" nogil:
    const StringId NO_STRING "tamis::StringTable::none"
    const uint32_t SEGMENTS_BOUND "tamis::StringHeap::segments_bound"

    cdef struct HashKey:
        uint64_t low
        uint64_t high

    uint64_t sip_hash(string_view text, HashKey key) noexcept

    # The strings of a table as they were; any thread may read them while the table is written.
    cdef cppclass FrozenStrings:
        FrozenStrings() except +
        StringId id_bound() noexcept
        string_view view(StringId id) noexcept

    cdef cppclass StringTable:
        StringTable(HashKey key, uint32_t ids_max, uint32_t segments_max) except +
        StringId intern(string_view text) except +
        StringId intern_with(string_view text, uint32_t references) except +
        StringId find(string_view text) noexcept
        bool holds(StringId id) noexcept
        string_view view(StringId id) noexcept
        void prefetch(StringId id) noexcept
        uint32_t references(StringId id) noexcept
        bool restore(StringId id, string_view text, uint32_t references) except +
        void reserve(uint32_t count) except +
        FrozenStrings freeze() except +
        bool retain(StringId id, uint32_t count) except +
        bool release(StringId id) noexcept
        uint32_t size() noexcept
        uint32_t id_bound() noexcept
        uint64_t generation() noexcept
        size_t memory_bytes() noexcept


cdef class Vocabulary:
    # Owned. Loops over many strings call it directly: its methods are inlined, those of a cdef class are not.
    cdef StringTable* table
    # Whether somebody writes to it without the GIL: nobody else reads it then.
    cdef bint is_written

    # Bytes are valid UTF-8: whoever calls has seen to it.
    cdef StringId intern_bytes(self, const char* data, size_t length) except? NO_STRING nogil
    # NO_STRING: the vocabulary does not hold it. Takes no reference.
    cdef StringId find_bytes(self, const char* data, size_t length) noexcept nogil
    # Good until the next write. The data are null if the id is free, and never otherwise.
    cdef string_view view_of(self, StringId id) noexcept nogil
    # KeyError if the id is free, OverflowError rather than wrap the count.
    cdef int retain_id(self, StringId id) except -1 nogil
    # False if the id is free.
    cdef bool release_id(self, StringId id) noexcept nogil

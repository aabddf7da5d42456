from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool

cdef extern from "expression_store.hpp" namespace "tamis" nogil:
    const uint32_t NO_SLOT "tamis::ExpressionStore::none"
    const uint32_t DEAD "tamis::WordSegments::dead"
    const uint32_t RECORD_HEADER "tamis::WordSegments::header"

    cdef struct Words:
        const uint32_t* data
        uint32_t size

    cdef struct Base:
        const uint32_t* words
        const uint64_t* starts
        uint32_t count

    # `words` is a pointer, shared with whoever froze the store.
    cdef cppclass WordSegment "tamis::WordSegments::Segment":
        uint32_t used

    cdef cppclass WordSegments:
        uint32_t count() noexcept
        const WordSegment& operator[](uint32_t index) noexcept
        const uint32_t* words(uint32_t index) noexcept

    cdef cppclass FrozenStore:
        FrozenStore() except +
        uint32_t size() noexcept
        uint32_t slot_bound() noexcept
        bool holds(uint32_t slot) noexcept
        uint32_t id(uint32_t slot) noexcept
        Words words(uint32_t slot) noexcept
        void prefetch_place(uint32_t slot) noexcept
        void prefetch_words(uint32_t slot) noexcept

    cdef cppclass ExpressionStore(FrozenStore):
        ExpressionStore() except +
        void adopt(const Base& base, const uint32_t* ids) except +
        uint32_t find(uint32_t id) noexcept
        uint32_t put(uint32_t id, const uint32_t* words, uint32_t size) except +
        void bind(uint32_t slot) noexcept
        void prepare_erase(uint32_t slot) except +
        void erase(uint32_t slot) noexcept
        bool compact(uint32_t words_max) except +
        const WordSegments& segments() noexcept
        const Base& base() noexcept
        bool holds_base(uint32_t position) noexcept
        FrozenStore freeze() except +
        size_t words_bytes() noexcept
        size_t mapped_bytes() noexcept
        size_t slots_bytes() noexcept
        size_t ids_bytes() noexcept

"""Avro's binary encoding, a value at a time: each function gives where the next value begins, or NULL.

Nothing at or behind `end` is read. Where one fails, the sink is told why, and `stopped` is where.
"""

from libc.stdint cimport INT64_MIN, int64_t, uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from tamis.codecs.sink cimport (
    BAD_BLOCK, BAD_BOOLEAN, BAD_LENGTH, BAD_UTF8, STRING_TOO_LONG, TRUNCATED, VALUE_OVERFLOW, EventSink,
    Reason, is_utf8,
)

ctypedef const char* Place

# Some entries of a map or elements of an array; `stop` is where they end, if they say so.
cdef struct Block:
    uint64_t count
    Place stop


cdef inline Place refused(EventSink* sink, Reason why, Place at) noexcept nogil:
    sink.stopped = at
    sink.fail(why)
    return NULL


cdef inline Place halted(EventSink* sink, Place at) noexcept nogil:
    """Where the sink itself has said why."""
    sink.stopped = at
    return NULL


cdef inline Place read_long(Place at, Place end, int64_t* value, EventSink* sink) noexcept nogil:
    cdef uint64_t bits
    cdef uint8_t byte
    cdef uint32_t shift = 7
    if at == end:
        return refused(sink, TRUNCATED, at)
    bits = <uint8_t>at[0]
    at += 1
    if bits >= 0x80:
        bits &= 0x7F
        while True:
            if at == end:
                return refused(sink, TRUNCATED, at)
            byte = <uint8_t>at[0]
            if shift == 63 and byte > 1:
                return refused(sink, VALUE_OVERFLOW, at)
            at += 1
            bits |= <uint64_t>(byte & 0x7F) << shift
            if byte < 0x80:
                break
            shift += 7
    value[0] = <int64_t>(bits >> 1) ^ -<int64_t>(bits & 1)
    return at


cdef inline Place read_double(Place at, Place end, double* value, EventSink* sink) noexcept nogil:
    cdef uint64_t bits = 0
    cdef uint32_t index
    if end - at < 8:
        return refused(sink, TRUNCATED, at)
    for index in range(8):  # compilers make one load of it
        bits |= <uint64_t><uint8_t>at[index] << 8 * index
    memcpy(value, &bits, 8)
    return at + 8


cdef inline Place read_float(Place at, Place end, double* value, EventSink* sink) noexcept nogil:
    cdef uint32_t bits = 0
    cdef uint32_t index
    cdef float narrow
    if end - at < 4:
        return refused(sink, TRUNCATED, at)
    for index in range(4):
        bits |= <uint32_t><uint8_t>at[index] << 8 * index
    memcpy(&narrow, &bits, 4)
    value[0] = narrow
    return at + 4


cdef inline Place read_boolean(Place at, Place end, bint* value, EventSink* sink) noexcept nogil:
    if at == end:
        return refused(sink, TRUNCATED, at)
    if <uint8_t>at[0] > 1:
        return refused(sink, BAD_BOOLEAN, at)
    value[0] = at[0]
    return at + 1


cdef inline Place read_size(Place at, Place end, size_t* size, EventSink* sink) noexcept nogil:
    """How many bytes follow, all of which are there."""
    cdef int64_t length
    cdef Place start = at
    at = read_long(at, end, &length, sink)
    if at == NULL:
        return NULL
    if length < 0:
        return refused(sink, BAD_LENGTH, start)
    if length > end - at:
        return refused(sink, TRUNCATED, start)
    size[0] = <size_t>length
    return at


cdef inline Place read_text(Place at, Place end, size_t* size, EventSink* sink) noexcept nogil:
    """The same of a string, which begins at the place that is given back."""
    at = read_size(at, end, size, sink)
    if at == NULL:
        return NULL
    if size[0] > sink.bounds.string_bytes:
        return refused(sink, STRING_TOO_LONG, at)
    if not is_utf8(at, size[0]):
        return refused(sink, BAD_UTF8, at)
    return at


cdef inline Place read_block(
    Place at, Place end, uint64_t bytes_min, Block* block, EventSink* sink
) noexcept nogil:
    """The beginning of a block, each item of which takes so many bytes at least."""
    cdef int64_t count
    cdef size_t size
    cdef Place start = at
    at = read_long(at, end, &count, sink)
    if at == NULL:
        return NULL
    block.stop = NULL
    if count < 0:
        if count == INT64_MIN:
            return refused(sink, VALUE_OVERFLOW, start)
        count = -count
        at = read_size(at, end, &size, sink)
        if at == NULL:
            return NULL
        block.stop = at + size
    block.count = <uint64_t>count
    if bytes_min > 0 and block.count > <uint64_t>(end - at) // bytes_min:
        return refused(sink, TRUNCATED, start)
    if not sink.add_items(block.count):
        return halted(sink, start)
    return at


cdef inline Place end_block(Place at, const Block* block, EventSink* sink) noexcept nogil:
    if block.stop != NULL and at != block.stop:
        return refused(sink, BAD_BLOCK, at)
    return at

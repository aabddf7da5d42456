"""Objects in JSON, flattened: RFC 8259 to the letter, in one pass, nothing made that nobody asks about.

A key is compared with the one that came here in the message before, and is read as a string only if it is another.
"""

from libc.math cimport isinf
from libc.stdint cimport INT64_MAX, int64_t, uint32_t, uint64_t
from libc.string cimport memcmp

from tamis.codecs.avro_wire cimport Place, halted, refused
from tamis.codecs.json_string cimport Scratch, Text, plain_end, read_other_string
from tamis.codecs.sink cimport (
    BAD_SYNTAX, NOT_AN_OBJECT, NO_NODE, OUT_OF_MEMORY, ROOT, STRING_TOO_LONG, TOO_DEEP, TRUNCATED, VALUE_OVERFLOW,
    EventSink,
)


cdef extern from "json_text.hpp" namespace "tamis" nogil:
    bint double_of(const char* begin, const char* end, double* value) noexcept

cdef enum:
    EXACT_POWERS = 23          # powers of ten that a double holds exactly
    EXACT_DIGITS_MAX = 17      # of a number that a double may hold exactly, with a zero before the point
    DIGITS_MAX = 19            # that fit 64 bits, whatever they are
    EXPONENT_BOUND = 1000000

cdef double[EXACT_POWERS] POWERS = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20,
    1e21, 1e22,
]
cdef uint64_t EXACT_MAX = <uint64_t>1 << 53
cdef uint64_t LARGEST = <uint64_t>INT64_MAX


cdef Place read_json(Place at, Place end, Scratch* scratch, EventSink* sink) noexcept nogil:
    at = skipped(at, end)
    if at == end:
        return refused(sink, TRUNCATED, at)
    if at[0] != c"{":
        return refused(sink, NOT_AN_OBJECT if begins_value(at[0]) else BAD_SYNTAX, at)
    at = read_object(at, end, ROOT, 1, scratch, sink)
    if at == NULL:
        return NULL
    return skipped(at, end)


cdef inline Place skipped(Place at, Place end) noexcept nogil:
    """Behind white space."""
    while at < end and (at[0] == c" " or at[0] == c"\n" or at[0] == c"\r" or at[0] == c"\t"):
        at += 1
    return at


cdef inline bint is_digit(char byte) noexcept nogil:
    return c"0" <= byte <= c"9"


cdef inline bint begins_value(char byte) noexcept nogil:
    return is_digit(byte) or byte in (c"-", c'"', c"[", c"t", c"f", c"n")


cdef inline Place unexpected(Place at, Place end, EventSink* sink) noexcept nogil:
    return refused(sink, TRUNCATED if at == end else BAD_SYNTAX, at)


# `where` is the node of the value's path; NO_NODE if it is only checked, and put nowhere.
cdef Place read_object(
    Place at, Place end, uint32_t where, uint32_t depth, Scratch* scratch, EventSink* sink
) noexcept nogil:
    cdef Text key
    cdef Place start
    cdef uint32_t node
    cdef size_t size = 0
    if depth > sink.bounds.depth:
        return refused(sink, TOO_DEEP, at)
    at = skipped(at + 1, end)
    if at < end and at[0] == c"}":
        return at + 1
    while True:
        if at == end or at[0] != c'"':
            return unexpected(at, end, sink)
        if not sink.add_items(1):
            return halted(sink, at)
        node = NO_NODE if where == NO_NODE else sink.quoted_key(where, at + 1, end, &size)
        if node != NO_NODE:
            at += size + 2
        else:
            start = at
            at = read_string(at, end, &key, scratch, sink)
            if at == NULL:
                return NULL
            if where != NO_NODE:
                node = sink.key(where, key.data, key.size, key.end)
                if node == NO_NODE:
                    return halted(sink, start)
        at = skipped(at, end)
        if at == end or at[0] != c":":
            return unexpected(at, end, sink)
        at = read_value(skipped(at + 1, end), end, node, depth, scratch, sink)
        if at == NULL:
            return NULL
        at = skipped(at, end)
        if at < end and at[0] == c",":
            at = skipped(at + 1, end)
        elif at < end and at[0] == c"}":
            return at + 1
        else:
            return unexpected(at, end, sink)


cdef Place read_array(
    Place at, Place end, uint32_t depth, Scratch* scratch, EventSink* sink
) noexcept nogil:
    if depth > sink.bounds.depth:
        return refused(sink, TOO_DEEP, at)
    at = skipped(at + 1, end)
    if at < end and at[0] == c"]":
        return at + 1
    while True:
        if not sink.add_items(1):
            return halted(sink, at)
        at = read_value(at, end, NO_NODE, depth, scratch, sink)
        if at == NULL:
            return NULL
        at = skipped(at, end)
        if at < end and at[0] == c",":
            at = skipped(at + 1, end)
        elif at < end and at[0] == c"]":
            return at + 1
        else:
            return unexpected(at, end, sink)


cdef inline Place read_value(
    Place at, Place end, uint32_t where, uint32_t depth, Scratch* scratch, EventSink* sink
) noexcept nogil:
    cdef Text text
    cdef Place start = at
    if at == end:
        return refused(sink, TRUNCATED, at)
    if at[0] == c'"':
        at = read_string(at, end, &text, scratch, sink)
        if at == NULL:
            return NULL
        if where != NO_NODE and not sink.add_string(where, text.data, text.size, text.end):
            return halted(sink, start)
        return at
    if is_digit(at[0]) or at[0] == c"-":
        return read_number(at, end, where, sink)
    if at[0] == c"{":
        return read_object(at, end, where, depth + 1, scratch, sink)
    if at[0] == c"[":
        if where != NO_NODE:
            sink.left_out_here.arrays += 1
        return read_array(at, end, depth + 1, scratch, sink)
    return read_literal(at, end, where, sink)


cdef Place read_literal(Place at, Place end, uint32_t where, EventSink* sink) noexcept nogil:
    cdef Place start = at
    if at[0] == c"n":
        return after_word(at, end, b"null", 4, sink)
    if at[0] == c"t":
        at = after_word(at, end, b"true", 4, sink)
    elif at[0] == c"f":
        at = after_word(at, end, b"false", 5, sink)
    else:
        return refused(sink, BAD_SYNTAX, at)
    if at != NULL and where != NO_NODE and not sink.add_boolean(where, start[0] == c"t"):
        return halted(sink, start)
    return at


cdef Place after_word(Place at, Place end, const char* word, size_t size, EventSink* sink) noexcept nogil:
    cdef size_t left = min(size, <size_t>(end - at))
    if memcmp(at, word, left) != 0:
        return refused(sink, BAD_SYNTAX, at)
    return refused(sink, TRUNCATED, end) if left < size else at + size


cdef Place read_number(Place at, Place end, uint32_t where, EventSink* sink) noexcept nogil:
    cdef Place start = at
    cdef bint negative = at[0] == c"-"
    cdef uint64_t digits = 0
    cdef Place first
    if negative:
        at += 1
        if at == end or not is_digit(at[0]):
            return unexpected(at, end, sink)
    first = at
    while at < end and is_digit(at[0]):
        digits = digits * 10 + <uint64_t>(at[0] - c"0")
        at += 1
    if first[0] == c"0" and at - first > 1:
        return refused(sink, BAD_SYNTAX, first)
    if at < end and (at[0] == c"." or at[0] == c"e" or at[0] == c"E"):
        return read_double(start, first, at, end, where, sink)
    if at - first > DIGITS_MAX or digits > LARGEST + negative:
        return refused(sink, VALUE_OVERFLOW, start)
    if where != NO_NODE and not sink.add_long(where, <int64_t>(0 - digits if negative else digits)):
        return halted(sink, start)
    return at


cdef Place read_double(
    Place start, Place first, Place at, Place end, uint32_t where, EventSink* sink
) noexcept nogil:
    """A number from its start on, whose whole part goes from its first digit to here."""
    cdef int64_t exponent = 0
    cdef int64_t scale = 0
    cdef uint64_t digits = 0
    cdef Place place
    cdef bint shrinks = False
    cdef double value
    cdef int64_t count = at - first
    if at[0] == c".":
        place = at + 1
        at += 1
        while at < end and is_digit(at[0]):
            at += 1
        scale = at - place
        if scale == 0:
            return unexpected(at, end, sink)
    count += scale
    if at < end and (at[0] == c"e" or at[0] == c"E"):
        at += 1
        if at < end and (at[0] == c"+" or at[0] == c"-"):
            shrinks = at[0] == c"-"
            at += 1
        if at == end or not is_digit(at[0]):
            return unexpected(at, end, sink)
        while at < end and is_digit(at[0]):
            exponent = min(exponent * 10 + (at[0] - c"0"), <int64_t>EXPONENT_BOUND)
            at += 1
    exponent = (0 - exponent if shrinks else exponent) - scale
    if count <= EXACT_DIGITS_MAX:
        place = first
        while is_digit(place[0]) or place[0] == c".":
            if place[0] != c".":
                digits = digits * 10 + <uint64_t>(place[0] - c"0")
            place += 1
            if place == end:
                break
    if count <= EXACT_DIGITS_MAX and digits <= EXACT_MAX and -EXACT_POWERS < exponent < EXACT_POWERS:
        # Two doubles that are exact, and one operation: rounded once.
        value = <double>digits
        value = value / POWERS[0 - exponent] if exponent < 0 else value * POWERS[exponent]
        value = 0 - value if start[0] == c"-" else value
    elif not double_of(start, at, &value):
        return refused(sink, OUT_OF_MEMORY, start)
    if isinf(value):
        return refused(sink, VALUE_OVERFLOW, start)
    if where != NO_NODE and not sink.add_double(where, value):
        return halted(sink, start)
    return at


cdef inline Place read_string(Place at, Place end, Text* text, Scratch* scratch, EventSink* sink) noexcept nogil:
    """From its opening quotation mark to behind the closing one."""
    cdef Place start = at + 1
    at = plain_end(start, end)
    if at == end or at[0] != c'"':
        return read_other_string(start, at, end, text, scratch, sink)
    text.data = start
    text.size = at - start
    text.end = end
    if text.size > sink.bounds.string_bytes:
        return refused(sink, STRING_TOO_LONG, start)
    return at + 1

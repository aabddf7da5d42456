"""Strings in JSON that are more than plain ASCII: UTF-8 is checked, escapes are undone."""

from libc.stdint cimport int64_t, uint8_t, uint32_t
from libc.string cimport memcpy

from tamis.codecs.avro_wire cimport Place, refused
from tamis.codecs.sink cimport BAD_SYNTAX, BAD_UTF8, LONE_SURROGATE, STRING_TOO_LONG, TRUNCATED, EventSink


cdef extern from "utf8.hpp" namespace "tamis" nogil:
    size_t utf8_length(const unsigned char* at, size_t left) noexcept


cdef Place read_other_string(
    Place start, Place at, Place end, Text* text, Scratch* scratch, EventSink* sink
) noexcept nogil:
    cdef size_t length
    cdef char* copied = NULL  # where it begins in the scratch, once it has an escape
    cdef Place segment = start
    cdef Place next
    while True:
        if at == end:
            return refused(sink, TRUNCATED, at)
        if at[0] == c'"':
            break
        if at[0] == c"\\":
            copied = scratch.at if copied == NULL else copied
            put(scratch, segment, at - segment)
            next = read_escape(at, end, scratch, sink)
            if next == NULL:
                return NULL
            at = segment = next
        elif <uint8_t>at[0] < 0x20:
            return refused(sink, BAD_SYNTAX, at)
        else:
            length = utf8_length(<const unsigned char*>at, end - at)
            if length == 0:
                return refused(sink, BAD_UTF8, at)
            at += length
        at = plain_end(at, end)
    if copied == NULL:
        text.data = start
        text.size = at - start
        text.end = end
    else:
        put(scratch, segment, at - segment)
        text.data = copied
        text.size = scratch.at - copied
        text.end = scratch.end
    if text.size > sink.bounds.string_bytes:
        return refused(sink, STRING_TOO_LONG, start)
    return at + 1


cdef inline void put(Scratch* scratch, const char* text, size_t size) noexcept nogil:
    if size > 0:
        memcpy(scratch.at, text, size)
        scratch.at += size


cdef Place read_escape(Place at, Place end, Scratch* scratch, EventSink* sink) noexcept nogil:
    cdef int64_t code, low
    cdef Place start = at
    if end - at < 2:
        return refused(sink, TRUNCATED, end)
    code = simple_escape(at[1])
    at += 2
    if code < 0:
        if start[1] != c"u":
            return refused(sink, BAD_SYNTAX, start)
        if end - at < 4:
            return refused(sink, TRUNCATED, end)
        code = hexadecimal(at)
        if code < 0:
            return refused(sink, BAD_SYNTAX, start)
        at += 4
        if 0xD800 <= code < 0xDC00 and end - at >= 6 and at[0] == c"\\" and at[1] == c"u":
            low = hexadecimal(at + 2)
            if 0xDC00 <= low < 0xE000:
                code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00)
                at += 6
        if 0xD800 <= code < 0xE000:
            return refused(sink, LONE_SURROGATE, start)
    put_character(scratch, <uint32_t>code)
    return at


cdef inline int64_t simple_escape(char letter) noexcept nogil:
    if letter == c'"' or letter == c"\\" or letter == c"/":
        return letter
    if letter == c"n":
        return 10
    if letter == c"t":
        return 9
    if letter == c"r":
        return 13
    if letter == c"b":
        return 8
    return 12 if letter == c"f" else -1


cdef inline int64_t hexadecimal(Place at) noexcept nogil:
    """Four digits; -1 if they are none."""
    cdef int64_t code = 0
    cdef uint32_t index
    cdef char letter
    for index in range(4):
        letter = at[index]
        code <<= 4
        if c"0" <= letter <= c"9":
            code |= letter - c"0"
        elif c"a" <= letter <= c"f":
            code |= letter - c"a" + 10
        elif c"A" <= letter <= c"F":
            code |= letter - c"A" + 10
        else:
            return -1
    return code


cdef void put_character(Scratch* scratch, uint32_t code) noexcept nogil:
    cdef char* at = scratch.at
    if code < 0x80:
        at[0] = <char>code
        scratch.at += 1
    elif code < 0x800:
        at[0] = <char>(0xC0 | code >> 6)
        at[1] = <char>(0x80 | code & 0x3F)
        scratch.at += 2
    elif code < 0x10000:
        at[0] = <char>(0xE0 | code >> 12)
        at[1] = <char>(0x80 | code >> 6 & 0x3F)
        at[2] = <char>(0x80 | code & 0x3F)
        scratch.at += 3
    else:
        at[0] = <char>(0xF0 | code >> 18)
        at[1] = <char>(0x80 | code >> 12 & 0x3F)
        at[2] = <char>(0x80 | code >> 6 & 0x3F)
        at[3] = <char>(0x80 | code & 0x3F)
        scratch.at += 4

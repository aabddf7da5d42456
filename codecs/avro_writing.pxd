"""Avro's binary encoding, as it is written: to where there is room, or at the end of a vector."""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.stdint cimport int64_t, uint64_t
from libc.string cimport memcpy
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector


cdef inline char* put(char* at, const char* data, size_t size) noexcept nogil:
    memcpy(at, data, size)
    return at + size


cdef inline char* put_byte(char* at, char byte) noexcept nogil:
    at[0] = byte
    return at + 1


cdef inline char* put_whole(char* at, int64_t value) noexcept nogil:
    """The sign in the lowest bit, then seven bits a byte; ten bytes at most."""
    cdef uint64_t bits = (<uint64_t>value << 1) ^ -<uint64_t>(value < 0)
    while bits >= 0x80:
        at[0] = <char>(bits | 0x80)
        at += 1
        bits >>= 7
    at[0] = <char>bits
    return at + 1


cdef inline int append(vector[char]& target, string_view text) except -1:
    target.insert(target.end(), text.data(), text.data() + text.size())
    return 0


cdef inline int append_whole(vector[char]& target, int64_t value) except -1:
    cdef char[10] bytes
    return append(target, string_view(&bytes[0], put_whole(&bytes[0], value) - &bytes[0]))


cdef inline int append_string(vector[char]& target, str text) except -1:
    cdef string_view utf8 = view_of(text)
    append_whole(target, utf8.size())
    return append(target, utf8)


cdef inline string_view view_of(str text) except *:
    """Good as long as the string lives."""
    cdef Py_ssize_t size = 0
    cdef const char* data = PyUnicode_AsUTF8AndSize(text, &size)
    return string_view(data, size)

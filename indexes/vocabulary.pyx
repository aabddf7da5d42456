"""The strings that subscriptions mention, each held once, under a dense id.

Attribute names and operand strings are interned when an expression is parsed; engines hold and compare ids.
Strings are Unicode scalar values, held as UTF-8. They are found by a hash whose key is drawn anew for each
process, so nobody can choose strings that make it slow.

Beside its own 12 bytes a string costs 21.5 to 23 while the vocabulary grows from 100,000 strings to a
million, and 29 where strings are exchanged at random, since dead ones lie between. The table grows and
shrinks in 256 independent parts, the bytes lie in segments of 32 KiB: at a million strings a write takes
about 1 us, and the longest, a release that empties a segment, 1 to 2 ms.

One writer; any number of threads may read between writes.
"""

import os

cimport cython
from cpython.number cimport PyNumber_Index
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport UINT32_MAX, uint32_t
from libcpp cimport bool
from libcpp.string_view cimport string_view

cdef HashKey PROCESS_KEY = key_of(os.urandom(16))


def keyed_hash(data: bytes, key: bytes) -> int:
    """SipHash-1-3 of the bytes under a key of 16 bytes, as a vocabulary computes it."""
    cdef const char* start = data
    return sip_hash(string_view(start, len(data)), key_of(key))


@cython.final
cdef class Vocabulary:
    """Interns strings to 32-bit ids, with reference counts.

    A new string gets the smallest free id, so ids stay dense. `ids_max` bounds how many distinct strings are
    held, `segments_max` how many segments (32 KiB of strings, or one string above 4 KiB) hold their bytes.
    Given a `hash_key` of 16 bytes, two runs behave alike to the byte; without one, the process draws its own.
    """

    def __cinit__(self, *, ids_max=UINT32_MAX, segments_max=SEGMENTS_BOUND, hash_key=None):
        cdef uint32_t ids = at_most(UINT32_MAX, "ids_max", ids_max)
        cdef uint32_t segments = at_most(SEGMENTS_BOUND, "segments_max", segments_max)
        self.table = new StringTable(PROCESS_KEY if hash_key is None else key_of(hash_key), ids, segments)

    def __dealloc__(self):
        del self.table

    def intern(self, text) -> int:
        """The id of the string, with one reference more.

        OverflowError if there is no id, no segment or no reference left, MemoryError if there is no memory:
        the vocabulary is then as it was.
        """
        cdef string_view utf8 = utf8_of(text)
        return self.table.intern(utf8)

    def find(self, text) -> int | None:
        """The id of the string, or None if the vocabulary does not hold it. Takes no reference."""
        cdef StringId id = self.table.find(utf8_of(text))
        return None if id == NO_STRING else id

    def text(self, string_id) -> str:
        """The string of an id."""
        cdef string_view utf8 = self.table.view(held(self.table, string_id))
        return PyUnicode_DecodeUTF8(utf8.data(), <Py_ssize_t>utf8.size(), NULL)

    def retain(self, string_id, count=1) -> None:
        """Adds references to a string that is held; OverflowError beyond 2**32 - 1 of them."""
        cdef StringId known = held(self.table, string_id)
        number = PyNumber_Index(count)
        if number < 1:
            raise ValueError(f"retain takes one reference or more, not {number}")
        if number > UINT32_MAX:
            raise OverflowError(f"{number} references are too many: a vocabulary counts up to 2**32 - 1")
        self.table.retain(known, number)

    def release(self, string_id) -> None:
        """Drops a reference. With the last one the string is forgotten, and its id is free."""
        self.table.release(held(self.table, string_id))

    def references(self, string_id) -> int:
        """How many references a string has."""
        return self.table.references(held(self.table, string_id))

    def memory_bytes(self) -> int:
        """All that the vocabulary has allocated, in use or not."""
        return self.table.memory_bytes()

    @property
    def id_bound(self) -> int:
        """One above the greatest id in use; 0 if there is none."""
        return self.table.id_bound()

    @property
    def generation(self) -> int:
        """Changes whenever a string comes or goes: what `find` said holds while this stays the same."""
        return self.table.generation()

    def __len__(self):
        return self.table.size()

    def __contains__(self, text):
        return self.table.find(utf8_of(text)) != NO_STRING

    cdef StringId intern_bytes(self, const char* data, size_t length) except? NO_STRING nogil:
        return self.table.intern(string_view(data, length))

    cdef StringId find_bytes(self, const char* data, size_t length) noexcept nogil:
        return self.table.find(string_view(data, length))

    cdef string_view view_of(self, StringId id) noexcept nogil:
        return self.table.view(id)

    cdef int retain_id(self, StringId id) except -1 nogil:
        if not self.table.retain(id, 1):
            with gil:
                raise KeyError(unknown(id))
        return 0

    cdef bool release_id(self, StringId id) noexcept nogil:
        return self.table.release(id)


cdef StringId held(StringTable* table, object string_id) except? NO_STRING:
    number = PyNumber_Index(string_id)
    if not 0 <= number < NO_STRING or not table.holds(number):
        raise KeyError(unknown(number))
    return number


cdef str unknown(string_id):
    return f"no string has the id {string_id}: it was never given, or its last reference was released"


cdef HashKey key_of(bytes key) except *:
    if len(key) != 16:
        raise ValueError(f"a hash key has 16 bytes, not {len(key)}")
    return HashKey(int.from_bytes(key[:8], "little"), int.from_bytes(key[8:], "little"))


cdef uint32_t at_most(uint32_t bound, str name, value) except? 0:
    number = PyNumber_Index(value)
    if not 1 <= number <= bound:
        raise ValueError(f"{name} is 1 to {bound}, not {number}")
    return number


# Lives as long as the str, which keeps its UTF-8.
cdef string_view utf8_of(object text) except *:
    cdef Py_ssize_t length = 0
    cdef const char* data
    if not isinstance(text, str):
        raise TypeError(f"a vocabulary holds strings: a str is needed, not {type(text).__name__}")
    try:
        data = PyUnicode_AsUTF8AndSize(text, &length)
    except UnicodeEncodeError as error:
        code = ord(error.object[error.start])
        raise ValueError(
            f"the string has a lone surrogate, U+{code:04X}, at index {error.start}: "
            "surrogates are no Unicode scalar values, so it has no UTF-8; replace or join them"
        ) from None
    return string_view(data, <size_t>length)

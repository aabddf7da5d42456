from tamis.codecs.avro_wire cimport Place
from tamis.codecs.sink cimport EventSink


cdef extern from "json_text.hpp" namespace "tamis" nogil:
    const char* plain_end(const char* at, const char* end) noexcept

# Where strings with escapes are written: as much room as the message has bytes.
cdef struct Scratch:
    char* at
    const char* end

# A string as it is meant, in the message or in the scratch; `end` is where memory that may be read ends.
cdef struct Text:
    const char* data
    size_t size
    const char* end

# A string from its first character on, to behind its closing quotation mark. It has more than plain ASCII in it, and is
# known up to `at`.
cdef Place read_other_string(
    Place start, Place at, Place end, Text* text, Scratch* scratch, EventSink* sink
) noexcept nogil

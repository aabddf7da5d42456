from tamis.codecs.avro_wire cimport Place
from tamis.codecs.sink cimport EventSink

# Where strings with escapes are written: as much room as the message has bytes.
cdef struct Scratch:
    char* at
    const char* end

# One JSON text, which is an object, up to its end; NULL if it is none.
cdef Place read_json(Place at, Place end, Scratch* scratch, EventSink* sink) noexcept nogil

from tamis.codecs.avro_wire cimport Place
from tamis.codecs.json_string cimport Scratch
from tamis.codecs.sink cimport EventSink

# One JSON text, which is an object, up to its end; NULL if it is none.
cdef Place read_json(Place at, Place end, Scratch* scratch, EventSink* sink) noexcept nogil

"""Where the bytes of many messages lie: in Python's own objects, or in the buffers of one Arrow column."""

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport int32_t, int64_t, uint8_t

cdef const char* NOTHING = ""

# Of Arrow's C data interface; what is not used here is left opaque.
cdef extern from *:
    """
    #include <cstdint>
    namespace {
    struct ArrowSchema {
      const char* format;
      const char* name;
      const char* metadata;
      std::int64_t flags;
      std::int64_t n_children;
      void* children;
      void* dictionary;
      void (*release)(struct ArrowSchema*);
      void* private_data;
    };
    struct ArrowArray {
      std::int64_t length;
      std::int64_t null_count;
      std::int64_t offset;
      std::int64_t n_buffers;
      std::int64_t n_children;
      const void** buffers;
      void* children;
      void* dictionary;
      void (*release)(struct ArrowArray*);
      void* private_data;
    };
    }  // namespace
    """
    cdef struct ArrowSchema:
        const char* format
        void* dictionary

    cdef struct ArrowArray:
        int64_t length
        int64_t offset
        int64_t n_buffers
        const void** buffers


@cython.final
cdef class Payloads:
    """Of `bytes` or None, one after the other; or of a column of binaries or strings, with 32 or 64 bit offsets."""

    def __cinit__(self, values):
        if hasattr(values, "__arrow_c_array__"):
            self.held = values.__arrow_c_array__()
            add_column(self, self.held)
        else:
            self.held = tuple(values)
            add_objects(self, self.held)

    def __len__(self):
        return self.data.size()


cdef int add_objects(Payloads payloads, tuple values) except -1:
    payloads.data.reserve(len(values))
    payloads.sizes.reserve(len(values))
    for value in values:
        if value is None:
            payloads.data.push_back(NULL)
            payloads.sizes.push_back(0)
        elif isinstance(value, bytes):
            payloads.data.push_back(PyBytes_AS_STRING(value))
            payloads.sizes.push_back(PyBytes_GET_SIZE(value))
        else:
            raise TypeError(f"a message's value or key is bytes or None, not {type(value).__name__}")
    return 0


cdef int add_column(Payloads payloads, tuple capsules) except -1:
    cdef ArrowSchema* schema = <ArrowSchema*>PyCapsule_GetPointer(capsules[0], "arrow_schema")
    cdef ArrowArray* column = <ArrowArray*>PyCapsule_GetPointer(capsules[1], "arrow_array")
    cdef const uint8_t* validity
    cdef const char* data
    cdef int64_t place, start, end
    cdef bint wide
    name = schema.format.decode()
    if name not in ("z", "Z", "u", "U") or schema.dictionary != NULL or column.n_buffers != 3:
        raise TypeError(f"a column of binaries or strings is wanted, not Arrow's {name!r}: cast it")
    wide = name.isupper()
    if column.length < 0 or column.offset < 0:
        raise ValueError(f"an Arrow column has no length {column.length} or offset {column.offset}")
    validity = <const uint8_t*>column.buffers[0]
    data = <const char*>column.buffers[2]
    payloads.data.reserve(column.length)
    payloads.sizes.reserve(column.length)
    for place in range(column.offset, column.offset + column.length):
        if validity != NULL and not validity[place >> 3] >> (place & 7) & 1:
            payloads.data.push_back(NULL)
            payloads.sizes.push_back(0)
            continue
        start = offset_at(column.buffers[1], place, wide)
        end = offset_at(column.buffers[1], place + 1, wide)
        if not 0 <= start <= end or data == NULL and start < end:
            raise ValueError(f"the Arrow column's value {place} goes from byte {start} to byte {end}")
        # Of a column without any bytes there may be no address.
        payloads.data.push_back(NOTHING if data == NULL else data + start)
        payloads.sizes.push_back(end - start)
    return 0


cdef inline int64_t offset_at(const void* offsets, int64_t place, bint wide) noexcept:
    return (<const int64_t*>offsets)[place] if wide else (<const int32_t*>offsets)[place]

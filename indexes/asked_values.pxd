from libc.stdint cimport uint32_t
from libcpp.vector cimport vector

from tamis.indexes.truth cimport Value

# Many values of an attribute, out of an array or any other sequence; `kept` keeps the bytes of strings.
cdef int values_of(values, str attribute, list kept, vector[Value]& asked) except -1

# As numpy has them.
cdef object array_of(const vector[uint32_t]& ids)

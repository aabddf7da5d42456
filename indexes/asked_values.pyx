"""What a one-dimensional index is asked, many values at once, and the ids that it answers with."""

from cpython.buffer cimport PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer
from libc.stdint cimport uint32_t
from libc.string cimport memcpy
from libcpp.vector cimport vector

import numpy as np

from tamis.indexes.event_values cimport check_value, value_of
from tamis.indexes.numbers cimport number_of_double, number_of_long
from tamis.indexes.truth cimport Value
from tamis.indexes.words cimport DOUBLE, LONG, NOTHING


cdef int values_of(values, str attribute, list kept, vector[Value]& asked) except -1:
    cdef Value value
    cdef const double[::1] doubles
    cdef const long long[::1] longs
    cdef Py_ssize_t index
    array = values if isinstance(values, np.ndarray) else None
    if array is not None and array.ndim != 1:
        raise ValueError(f"values are in one dimension, not {array.ndim}")
    asked.clear()
    asked.reserve(len(values))
    value.data = NULL
    value.size = 0
    if array is not None and array.dtype.kind == "f" and array.dtype.itemsize <= 8:
        doubles = np.ascontiguousarray(array, np.float64)
        for index in range(doubles.shape[0]):
            value.type = DOUBLE if doubles[index] == doubles[index] else NOTHING
            value.number = number_of_double(doubles[index])
            asked.push_back(value)
    elif array is not None and (array.dtype.kind == "i" or array.dtype.kind == "u" and array.dtype.itemsize < 8):
        longs = np.ascontiguousarray(array, np.int64)
        value.type = LONG
        for index in range(longs.shape[0]):
            value.number = number_of_long(longs[index])
            asked.push_back(value)
    else:
        for item in values.tolist() if array is not None else values:
            check_value(attribute, item)
            asked.push_back(value_of(item))
            kept.append(item)
    return 0


cdef object array_of(const vector[uint32_t]& ids):
    found = np.empty(ids.size(), np.uint32)
    cdef Py_buffer buffer  # a memoryview would take longer than finding one value's ids
    PyObject_GetBuffer(found, &buffer, PyBUF_WRITABLE)
    if ids.size() > 0:
        memcpy(buffer.buf, ids.data(), ids.size() * sizeof(uint32_t))
    PyBuffer_Release(&buffer)
    return found

"""The values of an event that Python holds: which there may be, and what they are to a predicate."""

from cpython.unicode cimport PyUnicode_AsUTF8AndSize
from libc.math cimport isnan
from libc.stdint cimport int64_t

from collections.abc import Mapping

from tamis.indexes.errors import EventError

from tamis.indexes.numbers cimport number_of_double, number_of_long
from tamis.indexes.truth cimport Value
from tamis.indexes.words cimport BOOLEAN, DOUBLE, LONG, NOTHING, STRING


cdef int check_event(event) except -1:
    if not isinstance(event, Mapping):
        raise TypeError(f"an event is a mapping, not {type(event).__name__}")
    for name, value in event.items():
        check_value(name, value)
    return 0


cdef int check_value(name, value) except -1:
    cdef Py_ssize_t size = 0
    if not isinstance(name, str):
        raise EventError(f"an attribute's name is a str, not {type(name).__name__}: {name!r}")
    try:
        PyUnicode_AsUTF8AndSize(name, &size)
    except UnicodeEncodeError:
        raise EventError(f"attribute {name!r}: its name has a lone surrogate, which no UTF-8 can hold") from None
    try:
        value_of(value)
    except OverflowError:
        raise EventError(f"attribute {name!r}: {value} does not fit a long, which ends at 2**63 - 1") from None
    except UnicodeEncodeError:
        raise EventError(f"attribute {name!r}: its value has a lone surrogate, which no UTF-8 can hold") from None
    except TypeError:
        raise EventError(
            f"attribute {name!r}: a value is a str, int, float, bool or None, not {type(value).__name__}"
        ) from None
    return 0


cdef Value value_of(value) except *:
    cdef Value result
    cdef Py_ssize_t size = 0
    cdef double real
    result.type = NOTHING
    if value is None:
        return result
    if isinstance(value, bool):
        result.type = BOOLEAN
        result.number = number_of_long(value)
    elif isinstance(value, int):
        result.type = LONG
        result.number = number_of_long(<int64_t>value)
    elif isinstance(value, float):
        real = value
        if not isnan(real):
            result.type = DOUBLE
            result.number = number_of_double(real)
    elif isinstance(value, str):
        result.type = STRING
        result.data = PyUnicode_AsUTF8AndSize(value, &size)
        result.size = size
    else:
        raise TypeError
    return result

"""What callers hand to an index: ids and expressions, as it takes them. Whatever is none is refused here."""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport UINT32_MAX, uint32_t

import numpy as np

from tamis.indexes.columnar import parse_many
from tamis.indexes.errors import ExpressionError
from tamis.indexes.expressions import Expression as _Expression, parse

from tamis.indexes.expressions cimport Expression


cdef uint32_t id_of(id) except? 0:
    number = PyNumber_Index(id)
    if not 0 <= number <= UINT32_MAX:
        raise ValueError(f"an id is 0 to 2**32 - 1, not {number}")
    return number


cdef object ids_of(ids):
    array = np.asarray(ids)
    if array.ndim != 1:
        raise ValueError(f"ids are in one dimension, not {array.ndim}")
    if array.size == 0:
        return np.empty(0, np.uint32)
    if array.dtype.kind == "O":  # an int beyond 64 bits is among them, or what is no int
        return np.array([id_of(item) for item in array], np.uint32)
    if array.dtype.kind not in "ui":
        raise TypeError(f"ids are integers, not {array.dtype}")
    if array.min() < 0 or array.max() > UINT32_MAX:
        raise ValueError(f"an id is 0 to 2**32 - 1; these go from {array.min()} to {array.max()}")
    return np.ascontiguousarray(array, np.uint32)


cdef Expression parsed_of(expression, limits):
    if isinstance(expression, str):
        return parse(expression, limits)
    if isinstance(expression, _Expression):
        return expression
    raise TypeError(f"an index takes an Expression or a str, not {type(expression).__name__}")


cdef object parsed_texts(list texts, limits):
    expressions, errors = parse_many(texts, limits)
    if errors:
        index, error = errors[0]
        error.index = index
        raise error
    return expressions


cdef list parsed_items(list items, limits):
    parsed = []
    for index, item in enumerate(items):
        try:
            parsed.append(parsed_of(item, limits))
        except ExpressionError as error:
            error.index = index
            raise
    return parsed

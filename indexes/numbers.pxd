"""Numbers: longs and doubles as one family, compared by exact mathematical value."""

from libc.math cimport floor
from libc.stdint cimport int64_t

cdef struct Number:
    bint is_double
    int64_t whole
    double real

cdef inline Number number_of_long(int64_t whole) noexcept nogil:
    return Number(False, whole, 0.0)


cdef inline Number number_of_double(double real) noexcept nogil:
    """A double that is integral and fits a long becomes one, so that equal numbers have equal bits."""
    # -2**63 is a double, 2**63 - 1 is not.
    if -9223372036854775808.0 <= real < 9223372036854775808.0 and floor(real) == real:
        return Number(False, <int64_t>real, 0.0)
    return Number(True, 0, real)


cdef inline int compared(Number a, Number b) noexcept nogil:
    """Negative, zero or positive. Neither is NaN."""
    cdef double real
    cdef int sign
    if a.is_double == b.is_double:
        if a.is_double:
            return (a.real > b.real) - (a.real < b.real)
        return (a.whole > b.whole) - (a.whole < b.whole)
    real = a.real if a.is_double else b.real
    if real >= 9223372036854775808.0:
        sign = 1
    elif real < -9223372036854775808.0:
        sign = -1
    else:  # within the longs a double has a fraction here, so it is small enough for an exact floor
        sign = -1 if (b.whole if a.is_double else a.whole) > <int64_t>floor(real) else 1
    return sign if a.is_double else -sign

from libcpp.vector cimport vector


cdef class Payloads:
    # What keeps the bytes where they are.
    cdef object held
    # NULL where there is none.
    cdef vector[const char*] data
    cdef vector[size_t] sizes

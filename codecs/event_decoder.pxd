from tamis.codecs.batch_pool cimport BatchPool


cdef class EventDecoder:
    cdef object catalogue
    cdef object limits
    cdef BatchPool pool
    # Calls that are over: the next one begins with what they learned of names.
    cdef list idle

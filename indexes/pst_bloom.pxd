from tamis.indexes.access_index cimport AccessIndex


cdef class PstBloom(AccessIndex):
    pass

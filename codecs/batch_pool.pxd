from tamis.indexes.batch cimport EventBatch


cdef class BatchPool:
    cdef list kept

    cdef EventBatch take(self, vocabulary)
    cdef int keep(self, EventBatch batch) except -1

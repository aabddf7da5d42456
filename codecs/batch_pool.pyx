"""Memory of batches that nobody has any more, for those to come.

A batch is some hundred kilobytes that live as long as a poll. Given back to the system and asked for anew, they cost a
page fault for every 4 KiB, which is a third of the time that decoding takes.
"""

cimport cython
from cpython.object cimport PyObject

from tamis.indexes.batch cimport EventBatch, empty_batch


cdef extern from "Python.h":
    Py_ssize_t Py_REFCNT(PyObject* held)
    PyObject* PyList_GET_ITEM(list, Py_ssize_t place)  # borrowed: the list's own reference


cdef enum:
    BATCHES_MAX = 2  # a loop still holds the last batch when it asks for the next one
    BYTES_MAX = 64 << 20


@cython.final
cdef class BatchPool:
    """Holds the batches it gave; one that it alone holds is nobody else's, and is given again."""

    def __cinit__(self):
        self.kept = []

    cdef EventBatch take(self, vocabulary):
        """An empty batch, for the index whose vocabulary this is, or for all."""
        cdef EventBatch batch, fresh = empty_batch(vocabulary)
        cdef Py_ssize_t place
        for place in range(len(self.kept)):
            # Its one reference is the list's: this thread has the GIL, so none can come.
            if Py_REFCNT(PyList_GET_ITEM(self.kept, place)) == 1:
                batch = self.kept.pop(place)
                empty(batch)
                batch.vocabulary = fresh.vocabulary
                batch.bound = fresh.bound
                batch.generation = fresh.generation
                return batch
        return fresh

    cdef int keep(self, EventBatch batch) except -1:
        """Once it is full, and about to be given away."""
        self.kept.append(batch)
        if len(self.kept) > BATCHES_MAX:
            del self.kept[0]
        if batch.attributes.capacity() * 17 + batch.pool.capacity() > BYTES_MAX:
            self.kept.remove(batch)
        return 0


cdef void empty(EventBatch batch) noexcept:
    batch.starts.resize(1)
    batch.attributes.clear()
    batch.types.clear()
    batch.values.clear()
    batch.strings.clear()
    batch.pool.clear()
    batch.weight_starts.clear()
    batch.weight_attributes.clear()
    batch.weights.clear()

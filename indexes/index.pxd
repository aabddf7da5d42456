from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.indexes.batch cimport EventBatch
from tamis.indexes.columnar cimport Expressions
from tamis.indexes.expressions cimport Expression
from tamis.indexes.matching cimport Matching
from tamis.indexes.store cimport ExpressionStore
from tamis.indexes.vocabulary cimport StringId, StringTable, Vocabulary


cdef class Index:
    cdef readonly Vocabulary vocabulary
    cdef readonly object columns
    cdef readonly object metadata
    # Owned. Its base's words belong to `mapped`.
    cdef ExpressionStore* store
    cdef Expressions mapped
    # How many matches run; -1 while a write does.
    cdef int users
    # Whether a write ended halfway. While it is not known whether one will, it is set, too.
    cdef bint broken
    # What matches that are over left for the next ones.
    cdef list spare

    # What an engine adds. A slot's words are in the store when it is added, and still when it is dropped. Where one of
    # these fails nothing has changed, or the index is broken.
    cdef int add(self, uint32_t slot) except -1 nogil
    # Slots that are in the store and will be added next: what that will wait for may be brought nearer.
    cdef int look_ahead(self, uint32_t first, uint32_t end) except -1 nogil
    cdef int drop(self, uint32_t slot) except -1 nogil
    cdef Matching new_matching(self)
    # All expressions that each event satisfies, into the hits; each once. Called with the GIL, to let it go.
    cdef int search(self, Matching matching) except -1
    # To events like these.
    cdef int adapt(self, EventBatch batch) except -1
    # A step of some 10 us of whatever there is to be improved; whether there is more.
    cdef bint tidy(self) except -1
    cdef size_t structure_bytes(self) noexcept
    cdef dict structure(self)

    cdef int check_whole(self) except -1
    cdef int begin_write(self) except -1
    cdef uint32_t slot_of(self, id) except? 0
    cdef int own_words(self, Expression expression, vector[uint32_t]& own) except -1
    cdef int put_vector(self, uint32_t id, const vector[uint32_t]& words) except -1
    cdef int put(self, uint32_t id, const uint32_t* words, uint32_t size) except -1 nogil
    cdef uint32_t put_new(self, uint32_t id, const uint32_t* words, uint32_t size, uint32_t old) except? 0 nogil
    cdef int remove(self, uint32_t slot) except -1 nogil
    cdef void release(self, const uint32_t* words, uint32_t size) noexcept nogil
    cdef int put_many(self, const uint32_t[::1] ids, Expressions expressions) except -1
    cdef int intern_all(self, const StringTable* theirs, vector[StringId]* own) except -1 nogil
    cdef int put_all(
        self, const uint32_t[::1] ids, Expressions expressions, const vector[StringId]& own, size_t* done
    ) except -1 nogil
    cdef void release_rest(self, Expressions expressions, const vector[StringId]& own, size_t done) noexcept

    cdef int check_readable(self) except -1
    cdef Matching begin_read(self)
    cdef int end_read(self, Matching matching) except -1
    cdef object matches_of(self, event, weights, bint scores)
    cdef object run(self, batch, first, ids_max, bint ordered, bint scores)

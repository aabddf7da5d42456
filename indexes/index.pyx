"""What all engines share: ids, expressions, replacing, results, scores, snapshots. An engine adds only its structure.

An index owns its expressions (`expression_store.hpp`) and the strings that they mention. Matching changes nothing, so
several threads may match at once; a write beside a match or another write is refused by a counter, which the GIL keeps.
"""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport UINT32_MAX, uint32_t
from libcpp.vector cimport vector

from time import monotonic
from types import MappingProxyType

import numpy as np

from tamis.indexes.errors import IndexBroken, IndexBusy
from tamis.indexes.expressions import DEFAULT_LIMITS

from tamis.indexes.batch cimport EventBatch, batch_of_one
from tamis.indexes.columnar cimport Expressions
from tamis.indexes.expressions cimport Expression, translated
from tamis.indexes.frozen cimport FrozenIndex
from tamis.indexes.inputs cimport id_of, ids_of, parsed_items, parsed_of, parsed_texts
from tamis.indexes.matching cimport Matching
from tamis.indexes.ranking cimport best_of, joined
from tamis.indexes.results cimport result_of
from tamis.indexes.store cimport NO_SLOT, Base, ExpressionStore, Words
from tamis.indexes.vocabulary cimport NO_STRING, StringId, StringTable, Vocabulary
from tamis.indexes.words cimport Cursor, next_string

cdef object EMPTY = MappingProxyType({})
# How many words of expressions `maintain` moves between two looks at the clock: some 10 us.
cdef uint32_t WORDS_A_STEP = 4096
# Scratch memory that is kept for later matches, at most so many.
cdef int SPARE_MAX = 8
# How many of those that a snapshot holds are looked at ahead.
cdef uint32_t AT_ONCE = 16


cdef class Index:
    """Answers which of its expressions an event satisfies.

    An expression has an id, 0 to 2**32 - 1, which is the caller's. There is one writer; a write while a match or
    another write runs, or the reverse, raises `IndexBusy`.

    A write that fails for want of memory leaves all as it was, or, where what was begun cannot be taken back, an index
    that raises `IndexBroken` whatever it is asked from then on.
    """

    name = "?"

    def __cinit__(self, *args, **options):
        self.vocabulary = Vocabulary()
        self.store = new ExpressionStore()
        self.columns = self.metadata = EMPTY
        self.spare = []

    def __init__(self):
        if type(self) is Index:
            raise TypeError("an index is made by create(name) or load(path)")

    def __dealloc__(self):
        del self.store

    def insert(self, id, expression, limits=DEFAULT_LIMITS):
        """Takes an expression, or a text that says one, under an id; what it had is replaced."""
        cdef uint32_t key = id_of(id)
        cdef Expression parsed = parsed_of(expression, limits)
        cdef vector[uint32_t] own
        self.begin_write()
        try:
            self.own_words(parsed, own)
            self.put_vector(key, own)
        finally:
            self.users = 0

    def insert_many(self, ids, expressions, limits=DEFAULT_LIMITS):
        """Takes many, in their order. Everything is checked before anything is taken.

        A text that is no expression raises its `ExpressionError`, whose `index` says which one it is.
        """
        keys = ids_of(ids)
        cdef vector[uint32_t] own
        cdef Expressions columnar
        if not isinstance(expressions, Expressions):
            expressions = list(expressions)
            if all([isinstance(item, str) for item in expressions]):
                expressions = parsed_texts(expressions, limits)
            else:
                expressions = parsed_items(expressions, limits)
        if len(keys) != len(expressions):
            raise ValueError(f"there are {len(keys)} ids, but {len(expressions)} expressions")
        if isinstance(expressions, Expressions):
            check_free(expressions)
        self.begin_write()
        try:
            if isinstance(expressions, Expressions):
                columnar = expressions
                if columnar.count > 0:
                    self.put_many(keys, columnar)
            else:
                for place, (key, expression) in enumerate(zip(keys.tolist(), expressions)):
                    self.broken = place > 0
                    self.own_words(expression, own)
                    self.put_vector(key, own)
                self.broken = False
        finally:
            self.users = 0

    def delete(self, id):
        """Forgets the expression of an id, and all that was there for it. KeyError if there is none."""
        cdef uint32_t slot
        self.begin_write()
        try:
            slot = self.slot_of(id)
            self.store.prepare_erase(slot)
            self.remove(slot)
        finally:
            self.users = 0

    def __contains__(self, id):
        self.check_readable()
        try:
            return self.store.find(id_of(id)) != NO_SLOT
        except (TypeError, ValueError):
            return False

    def __len__(self):
        self.check_readable()
        return self.store.size()

    def __getitem__(self, id):
        """The expression of an id."""
        self.check_readable()
        cdef Words words = self.store.words(self.slot_of(id))
        return translated(self.vocabulary, words.data, words.size)

    def ids(self):
        """All ids, ascending."""
        self.check_readable()
        found = np.empty(self.store.size(), np.uint32)
        cdef uint32_t[::1] view = found
        cdef uint32_t slot
        cdef size_t count = 0
        for slot in range(self.store.slot_bound()):
            if self.store.holds(slot):
                view[count] = self.store.id(slot)
                count += 1
        found.sort()
        return found

    def match(self, event, /):
        """The ids of the expressions that one event satisfies, ascending."""
        return self.matches_of(event, None, False).ids

    def match_batch(self, batch, first=0, ids_max=10_000_000, order="ascending", scores=False):
        """The ids of the expressions that each event of a batch satisfies, from an event on.

        Ends early, between two events, when there would be more ids than `ids_max`; one event is always done.
        """
        if order not in ("ascending", "any"):
            raise ValueError(f"order is 'ascending' or 'any', not {order!r}")
        return self.run(batch, first, ids_max, order == "ascending", scores)

    def top_k(self, event, k, weights=None):
        """The ids and scores of the best matches of one event: greatest score first, of equal ones the smaller id."""
        best = best_of(self.matches_of(event, weights or EMPTY, True), k)
        return best.ids, best.scores

    def top_k_batch(self, batch, k):
        """The best matches of each event of a batch, best first."""
        first = PyNumber_Index(0)
        parts = []
        # As many events at a time as the bound on ids allows.
        while True:
            part = self.run(batch, first, 10_000_000, False, True)
            parts.append(best_of(part, k))
            first += part.events
            if first >= len(batch):
                return parts[0] if len(parts) == 1 else joined(parts)

    def explain(self, id, event):
        """Why the expression of an id does or does not hold for an event."""
        return self[id].explain(event)

    def statistics(self):
        """What the structure is made of."""
        self.check_readable()
        return {"engine": self.name, "expressions": self.store.size()} | self.structure()

    def memory_bytes(self):
        """What is allocated: expressions with their strings, ids, the engine's structure, and scratch memory; and of a
        mapped snapshot what is read in place."""
        cdef Matching matching
        cdef size_t cache = 0
        self.check_readable()
        for matching in self.spare:
            cache += matching.memory_bytes()
        return {
            "expressions": self.store.words_bytes() + self.vocabulary.table.memory_bytes(),
            "ids": self.store.slots_bytes() + self.store.ids_bytes(),
            "structure": self.structure_bytes(),
            "cache": cache,
            "mapped": self.store.mapped_bytes(),
        }

    def learn(self, batch):
        """Adapt to events like these. The owner calls it between batches."""
        if not isinstance(batch, EventBatch):
            raise TypeError(f"an index learns from an EventBatch, not {type(batch).__name__}")
        self.begin_write()
        try:
            self.adapt(batch)
        finally:
            self.users = 0

    def maintain(self, seconds=0.005):
        """Tidy up for about so long; whether more is left to do. The owner calls it between batches."""
        end = monotonic() + seconds
        self.begin_write()
        try:
            while self.store.compact(WORDS_A_STEP) or self.tidy():
                if monotonic() >= end:
                    return True
            return False
        finally:
            self.users = 0

    def freeze(self):
        """What the index holds now, to be saved in any thread while the index goes on."""
        self.check_readable()
        return FrozenIndex.of(self.store, self.vocabulary, self.mapped, self.name)

    def save(self, path, columns=EMPTY, metadata=EMPTY):
        """Write a snapshot, with columns and metadata of the caller's own."""
        self.freeze().save(path, columns, metadata)

    def adopt(self, snapshot):
        """Of a new index: takes what a snapshot holds; its expressions are read in place."""
        cdef Expressions expressions = snapshot.expressions
        cdef const uint32_t[::1] ids = snapshot.ids
        cdef Base base
        cdef uint32_t slot
        if self.store.size() > 0 or self.mapped is not None:
            raise ValueError("only a new index adopts a snapshot")
        check_free(expressions)
        self.begin_write()
        try:
            self.vocabulary = expressions.vocabulary
            self.mapped = expressions
            expressions.adopted = True
            self.columns = snapshot.columns
            self.metadata = snapshot.metadata
            base.words = expressions.words
            base.starts = expressions.starts
            base.count = <uint32_t>expressions.count
            if base.count > 0:
                self.broken = True
                with nogil:
                    self.store.adopt(base, &ids[0])
                    for slot in range(base.count):
                        if slot % AT_ONCE == 0:
                            self.look_ahead(slot, min(slot + AT_ONCE, base.count))
                        self.add(slot)
                self.broken = False
        finally:
            self.users = 0

    # What an engine overrides.

    cdef int look_ahead(self, uint32_t first, uint32_t end) except -1 nogil:
        return 0

    cdef int add(self, uint32_t slot) except -1 nogil:
        return 0

    cdef int drop(self, uint32_t slot) except -1 nogil:
        return 0

    cdef Matching new_matching(self):
        return Matching.__new__(Matching)

    cdef int search(self, Matching matching) except -1:
        raise NotImplementedError  # abstract

    cdef int adapt(self, EventBatch batch) except -1:
        return 0

    cdef bint tidy(self) except -1:
        return False

    cdef size_t structure_bytes(self) noexcept:
        return 0

    cdef dict structure(self):
        return {}

    # Writing.

    cdef int check_whole(self) except -1:
        if self.broken:
            raise IndexBroken(
                "memory ran out while the index was changed, so that nobody knows what it holds: "
                "make a new one, of a snapshot or of what this one was made of"
            )
        return 0

    cdef int begin_write(self) except -1:
        if self.users > 0:
            raise IndexBusy(f"the index cannot be written while matches run, {self.users} just now")
        if self.users < 0:
            raise IndexBusy("the index cannot be written while another write runs")
        self.check_whole()
        self.users = -1
        return 0

    cdef uint32_t slot_of(self, id) except? 0:
        cdef uint32_t slot = self.store.find(id_of(id))
        if slot == NO_SLOT:
            raise KeyError(f"no expression has the id {id}")
        return slot

    cdef int own_words(self, Expression expression, vector[uint32_t]& own) except -1:
        """The words under this index's vocabulary, with a reference to each string."""
        cdef Cursor cursor = Cursor(0, 0)
        cdef size_t place = 0, done = 0
        own.assign(expression.words, expression.words + expression.size)
        try:
            while next_string(expression.words, expression.size, &cursor, &place):
                own[place] = self.vocabulary.table.intern(expression.vocabulary.table.view(expression.words[place]))
                done += 1
        except BaseException:
            cursor = Cursor(0, 0)
            while done > 0 and next_string(expression.words, expression.size, &cursor, &place):
                self.vocabulary.table.release(own[place])
                done -= 1
            raise
        return 0

    cdef int put_vector(self, uint32_t id, const vector[uint32_t]& words) except -1:
        return self.put(id, words.data(), <uint32_t>words.size())

    cdef int put(self, uint32_t id, const uint32_t* words, uint32_t size) except -1 nogil:
        """Takes words with a reference to each of their strings, instead of what the id had; or gives those back."""
        cdef uint32_t old = self.store.find(id), slot
        cdef bint before
        slot = self.put_new(id, words, size, old)
        self.store.bind(slot)
        if old != NO_SLOT:
            before = self.broken
            self.broken = True  # should it fail, the id has two expressions
            self.remove(old)
            self.broken = before
        return 0

    cdef uint32_t put_new(self, uint32_t id, const uint32_t* words, uint32_t size, uint32_t old) except? 0 nogil:
        """The same, but the id keeps what it has, in the slot `old`: for that to be removed all is prepared."""
        cdef uint32_t slot = NO_SLOT
        cdef bint done = False
        try:
            if old != NO_SLOT:
                self.store.prepare_erase(old)
            slot = self.store.put(id, words, size)
            self.add(slot)
            done = True
        finally:
            if not done:
                self.release(words, size)
                if slot != NO_SLOT:
                    self.store.erase(slot)
        return slot

    cdef int remove(self, uint32_t slot) except -1 nogil:
        """Needs `prepare_erase`."""
        cdef Words words = self.store.words(slot)
        self.drop(slot)
        self.release(words.data, words.size)
        self.store.erase(slot)
        return 0

    cdef void release(self, const uint32_t* words, uint32_t size) noexcept nogil:
        cdef Cursor cursor = Cursor(0, 0)
        cdef size_t place = 0
        while next_string(words, size, &cursor, &place):
            self.vocabulary.table.release(words[place])

    cdef int put_many(self, const uint32_t[::1] ids, Expressions expressions) except -1:
        """Each distinct string is looked up once, and gets the references of all its occurrences at once."""
        cdef vector[StringId] own
        cdef size_t done = 0
        self.vocabulary.is_written = True
        try:
            with nogil:
                self.intern_all(expressions.vocabulary.table, &own)
                self.put_all(ids, expressions, own, &done)
            self.broken = False
        except BaseException:
            self.release_rest(expressions, own, done)
            raise
        finally:
            self.vocabulary.is_written = False
        return 0

    cdef int intern_all(self, const StringTable* theirs, vector[StringId]* own) except -1 nogil:
        """From their ids to this index's, with as many references."""
        cdef StringId id
        own.reserve(theirs.id_bound())
        for id in range(theirs.id_bound()):
            own.push_back(NO_STRING)
            if theirs.holds(id):
                own[0][id] = self.vocabulary.table.intern_with(theirs.view(id), theirs.references(id))
        return 0

    cdef int put_all(
        self, const uint32_t[::1] ids, Expressions expressions, const vector[StringId]& own, size_t* done
    ) except -1 nogil:
        cdef vector[uint32_t] words
        cdef const uint32_t* theirs
        cdef size_t index
        cdef uint32_t size
        # Of ids that ascend none is there already.
        cdef bint same = is_identity(own), fresh = self.store.size() == 0 and ascend(ids)
        for index in range(expressions.count):
            self.broken = index > 0
            theirs = expressions.words + expressions.starts[index]
            size = <uint32_t>(expressions.starts[index + 1] - expressions.starts[index])
            if not same:
                words.assign(theirs, theirs + size)
                translate(&words, own)
                theirs = words.data()
            done[0] = index + 1  # what could not be put was given back
            if fresh:
                self.store.bind(self.put_new(ids[index], theirs, size, NO_SLOT))
            else:
                self.put(ids[index], theirs, size)
        return 0

    cdef void release_rest(self, Expressions expressions, const vector[StringId]& own, size_t done) noexcept:
        """The references that nothing was put for."""
        cdef Cursor cursor
        cdef const uint32_t* words
        cdef size_t index, place, size
        for index in range(done, expressions.count):
            words = expressions.words + expressions.starts[index]
            size = expressions.starts[index + 1] - expressions.starts[index]
            cursor = Cursor(0, 0)
            while next_string(words, size, &cursor, &place):
                if words[place] < own.size() and own[words[place]] != NO_STRING:
                    self.vocabulary.table.release(own[words[place]])

    # Reading.

    cdef int check_readable(self) except -1:
        if self.users < 0:
            raise IndexBusy("the index cannot be read while a write runs")
        return self.check_whole()

    cdef Matching begin_read(self):
        self.check_readable()
        cdef Matching matching = self.spare.pop() if self.spare else self.new_matching()
        self.users += 1
        return matching

    cdef int end_read(self, Matching matching) except -1:
        """None for a matching that failed: what it holds is in no state to be used again."""
        self.users -= 1
        if matching is not None and len(self.spare) < SPARE_MAX:
            matching.end()
            self.spare.append(matching)
        return 0

    cdef object matches_of(self, event, weights, bint scores):
        self.check_readable()
        self.users += 1  # nobody writes between the making of the batch and its end
        try:
            return self.run(batch_of_one(event, weights, self.vocabulary), 0, UINT32_MAX, True, scores)
        finally:
            self.users -= 1

    cdef object run(self, batch, first, ids_max, bint ordered, bint scores):
        if not isinstance(batch, EventBatch):
            raise TypeError(f"an index matches an EventBatch, not {type(batch).__name__}")
        if not 0 <= PyNumber_Index(first) <= len(batch):
            raise ValueError(f"first is {first}, but the batch has {len(batch)} events")
        if PyNumber_Index(ids_max) < 1:
            raise ValueError(f"ids_max is 1 or more, not {ids_max}")
        cdef Matching matching = self.begin_read(), done = None
        try:
            matching.begin(batch, self.vocabulary, first, min(ids_max, 2**63))
            self.search(matching)
            if ordered:
                with nogil:
                    matching.hits.sort()
            result = result_of(matching, self.store, scores)
            done = matching
            return result
        finally:
            self.end_read(done)


cdef int check_free(Expressions expressions) except -1:
    if expressions.adopted:
        raise ValueError("these expressions are those of an index that adopted their snapshot: read it once more")
    return 0


cdef bint ascend(const uint32_t[::1] ids) noexcept nogil:
    cdef Py_ssize_t index
    for index in range(1, ids.shape[0]):
        if ids[index - 1] >= ids[index]:
            return False
    return True


cdef bint is_identity(const vector[StringId]& own) noexcept nogil:
    cdef StringId id
    for id in range(<StringId>own.size()):
        if own[id] != id and own[id] != NO_STRING:
            return False
    return True


cdef int translate(vector[uint32_t]* words, const vector[StringId]& own) except -1 nogil:
    cdef Cursor cursor = Cursor(0, 0)
    cdef size_t place = 0
    while next_string(words.data(), words.size(), &cursor, &place):
        words[0][place] = own[words[0][place]]
    return 0

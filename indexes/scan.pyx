"""The engine without an index: it asks every expression, and so is the oracle for all others.

Expressions are read where they are stored, one after the other; there is no structure beside them, so insertion and
deletion cost nothing more. Each is asked for 64 events at once (`tile.pyx`), or for one where there are few, and a
block of 256 KiB for all events of the batch before the next one: it stays in the cache.
"""

from libc.stdint cimport uint32_t

from tamis.indexes.index cimport Index
from tamis.indexes.matching cimport Matching
from tamis.indexes.small cimport HOLDS, HOPELESS, UNCLEAR, Cell, Quick, quick_look
from tamis.indexes.store cimport DEAD, RECORD_HEADER, Base
from tamis.indexes.tile cimport LANE_COUNT, Lanes, Tile, countr_zero
from tamis.indexes.truth cimport TRUE
from tamis.indexes.words cimport CONJUNCTION, EXISTS, PREDICATE, kind_of, operator_of

# What is asked for all events before the next: words of a segment, expressions of a mapped snapshot.
cdef uint32_t BLOCK_WORDS = 64 * 1024
cdef uint32_t BASE_BLOCK = 4096
# So many events are asked about one after the other.
cdef uint32_t FEW = 4


cdef class Scan(Index):
    """Asks every expression about every event."""

    name = "scan"

    cdef Matching new_matching(self):
        return Tile.__new__(Tile)

    cdef int search(self, Matching matching) except -1:
        cdef Tile tile = matching
        cdef uint32_t index, first = 0, based = self.store.base().count, at
        cdef bint few = tile.hits.events() <= FEW
        with nogil:
            while first < based:
                if few:
                    self.ask_base(tile, first, min(first + BASE_BLOCK, based))
                else:
                    self.scan_base(tile, first, min(first + BASE_BLOCK, based))
                first += BASE_BLOCK
            for index in range(self.store.segments().count()):
                at = 0
                while self.store.segments().words(index) != NULL and at < self.store.segments()[index].used:
                    at = self.ask_block(tile, index, at) if few else self.scan_block(tile, index, at)
        return 0

    cdef int scan_base(self, Tile tile, uint32_t first, uint32_t end) except -1 nogil:
        cdef const Base* base = &self.store.base()
        cdef uint32_t event = 0, position
        cdef Lanes lanes
        while event < tile.hits.events():
            tile.enter_tile(event, min(LANE_COUNT, tile.hits.events() - event))
            for position in range(first, end):
                if not self.store.holds_base(position) or is_hopeless(
                    base.words + base.starts[position], tile.places.data()
                ):
                    continue
                tile.expressions += 1
                tile.lanes(base.words + base.starts[position], tile.all, True, &lanes)
                if lanes != 0 and not self.add_hits(tile, lanes, self.store.id(position)):
                    break
            tile.leave_tile()
            event += LANE_COUNT
        return 0

    cdef uint32_t scan_block(self, Tile tile, uint32_t index, uint32_t first) except 0 nogil:
        """Of a segment, from a record on; where the next block begins."""
        cdef const uint32_t* words = self.store.segments().words(index)
        cdef uint32_t event = 0, at, end = self.end_of_block(index, first)
        cdef Lanes lanes
        while event < tile.hits.events():
            tile.enter_tile(event, min(LANE_COUNT, tile.hits.events() - event))
            at = first
            while at < end:
                if words[at] != DEAD and not is_hopeless(words + at + RECORD_HEADER, tile.places.data()):
                    tile.expressions += 1
                    tile.lanes(words + at + RECORD_HEADER, tile.all, True, &lanes)
                    if lanes != 0 and not self.add_hits(tile, lanes, self.store.id(words[at])):
                        break
                at += RECORD_HEADER + words[at + 1]
            tile.leave_tile()
            event += LANE_COUNT
        return end

    cdef uint32_t end_of_block(self, uint32_t index, uint32_t first) noexcept nogil:
        cdef const uint32_t* words = self.store.segments().words(index)
        cdef uint32_t used = self.store.segments()[index].used, end = first
        while end < used and end - first < BLOCK_WORDS:
            end += RECORD_HEADER + words[end + 1]
        return end

    cdef int ask_base(self, Tile tile, uint32_t first, uint32_t end) except -1 nogil:
        """The same, an event at a time."""
        cdef const Base* base = &self.store.base()
        cdef const Cell* cells = tile.cells.data()
        cdef const uint32_t* words
        cdef uint32_t event = 0, position
        cdef Quick quick
        while event < tile.hits.events():
            tile.enter(event)
            for position in range(first, end):
                if not self.store.holds_base(position):
                    continue
                words = base.words + base.starts[position]
                quick = quick_look(cells, words, &tile.predicates)
                tile.expressions += quick != HOPELESS
                if quick == HOLDS or quick == UNCLEAR and tile.truth(words) == TRUE:
                    tile.hits.add(event, self.store.id(position))
                    if event >= tile.hits.events():  # it was given up
                        break
            tile.leave(event)
            event += 1
        return 0

    cdef uint32_t ask_block(self, Tile tile, uint32_t index, uint32_t first) except 0 nogil:
        cdef const uint32_t* words = self.store.segments().words(index)
        cdef const Cell* cells = tile.cells.data()
        cdef uint32_t event = 0, at, end = self.end_of_block(index, first)
        cdef Quick quick
        while event < tile.hits.events():
            tile.enter(event)
            at = first
            while at < end:
                if words[at] != DEAD:
                    quick = quick_look(cells, words + at + RECORD_HEADER, &tile.predicates)
                    tile.expressions += quick != HOPELESS
                    if quick == HOLDS or quick == UNCLEAR and tile.truth(words + at + RECORD_HEADER) == TRUE:
                        tile.hits.add(event, self.store.id(words[at]))
                        if event >= tile.hits.events():  # it was given up
                            break
                at += RECORD_HEADER + words[at + 1]
            tile.leave(event)
            event += 1
        return end

    cdef bint add_hits(self, Tile tile, Lanes lanes, uint32_t id) except -1 nogil:
        """False if the tile's first event is given up: nothing more needs to be found."""
        cdef uint32_t event
        while lanes != 0:
            event = tile.first_event + countr_zero(lanes)
            lanes &= lanes - 1
            if event >= tile.hits.events():
                # The events of the tile that are still wanted.
                if tile.first_event >= tile.hits.events():
                    return False
                tile.all = <Lanes>-1 >> (LANE_COUNT - (tile.hits.events() - tile.first_event))
                return True
            tile.hits.add(event, id)
        return True


cdef inline bint is_hopeless(const uint32_t* node, const uint32_t* places) noexcept nogil:
    """Whether its first predicate asks for an attribute that no event at hand has: seen before anything is called."""
    cdef const uint32_t* first = node + 2 if kind_of(node[0]) == CONJUNCTION else node
    return kind_of(first[0]) == PREDICATE and places[first[1]] == 0 and operator_of(first[0]) < EXISTS

"""What one value of an event finds in access lists, and which of what was found holds."""

from libc.stdint cimport uint32_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from tamis.indexes.access_keys cimport double_of, number_point, small_point, space_of_cell
from tamis.indexes.access_lists cimport (
    NO_LIST, AccessLists, AttributeColumn, ListKey, Signature, key_of_double,
)
from tamis.indexes.probe cimport Probe
from tamis.indexes.small cimport Cell
from tamis.indexes.store cimport ExpressionStore
from tamis.indexes.truth cimport Value
from tamis.indexes.vocabulary cimport StringId
from tamis.indexes.words cimport BOOLEAN, STRING, Type

cdef enum:
    # How far ahead of their trial the words of candidates are fetched.
    AHEAD = 12


cdef inline void add_bits(Signature* signature, Signature bits) noexcept nogil:
    signature.first |= bits.first
    signature.second |= bits.second


cdef inline ListKey point_of(Probe probe, StringId attribute, size_t entry) noexcept nogil:
    """Of the event in hand."""
    cdef const Cell* cell = &probe.cells[attribute]
    if cell.type == STRING or cell.type == BOOLEAN:
        return small_point(attribute, <Type>cell.type, <uint32_t>cell.small)
    return number_point(attribute, probe.batch.value_at(entry).number)


cdef inline int find_point(AccessLists* lists, Probe probe, const ListKey& point) except -1 nogil:
    cdef uint32_t number = lists.points.find(point)
    if number != NO_LIST:
        probe.found.list(lists.points[number])
        if lists.points.uses(number) > 0:
            probe.spaces.push_back(number)
    return 0


cdef inline int find_value(AccessLists* lists, Probe probe, StringId attribute, size_t entry) except -1 nogil:
    """By other than points."""
    cdef AttributeColumn* column = lists.column(attribute)
    cdef Value value
    cdef uint32_t cell
    if column == NULL:
        return 0
    lists.find_any(column[0], probe.found)
    if column.range_count() == 0 and column.cells_or_null() == NULL:
        return 0
    value = probe.batch.value_at(entry)
    if value.type == STRING:
        lists.find_string(column[0], string_view(value.data, value.size), probe.found)
    elif value.type != BOOLEAN:
        lists.find_number(column[0], double_of(value.number), probe.found)
        if column.cells_or_null() != NULL:
            cell = column.cells_or_null().of_key(key_of_double(double_of(value.number)))
            if column.cells_or_null().uses[cell] > 0:
                probe.spaces.push_back(space_of_cell(lists.number_of(attribute), cell))
    return 0


cdef inline int try_all(
    const ExpressionStore* store, Probe probe, uint32_t event, const vector[uint32_t]& slots
) except -1 nogil:
    cdef size_t index, count = slots.size()
    for index in range(count + 2 * AHEAD):
        if index < count:
            store.prefetch_place(slots[index])
        if AHEAD <= index < count + AHEAD:
            store.prefetch_words(slots[index - AHEAD])
        if index >= 2 * AHEAD:
            if event >= probe.hits.events():  # it was given up
                return 0
            probe.expressions += 1
            if probe.holds(store.words(slots[index - 2 * AHEAD]).data):
                probe.hits.add(event, store.id(slots[index - 2 * AHEAD]))
    return 0

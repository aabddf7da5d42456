from tamis.indexes.truth cimport Value

# Refuse, by the attribute's name, what no event may hold.
cdef int check_value(name, value) except -1
# A value that was checked; a string's bytes live as long as the str.
cdef Value value_of(value) except *
# Refuse what is no mapping of attributes to values.
cdef int check_event(event) except -1

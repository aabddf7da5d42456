from tamis.indexes.columnar cimport Expressions

# The expressions of checked arrays; `SnapshotError` if they are none.
cdef Expressions mapped_expressions(path, starts, words, string_starts, string_bytes)

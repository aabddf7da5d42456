cdef object best_of(matches, k)
cdef object joined(list parts)

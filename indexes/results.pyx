"""What a match found, as arrays, with scores where they are asked for."""

from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

import numpy as np

from tamis.indexes.matches import Matches

from tamis.indexes.matching cimport Matching
from tamis.indexes.store cimport ExpressionStore


cdef object result_of(Matching matching, const ExpressionStore* store, bint scores):
    cdef uint32_t event, events = matching.hits.events()
    cdef uint64_t at = 0
    offsets = np.empty(events + 1, np.uint64)
    ids = np.empty(matching.hits.total(), np.uint32)
    cdef uint64_t[::1] offsets_view = offsets
    cdef uint32_t[::1] ids_view = ids
    cdef double[::1] scores_view
    offsets_view[0] = 0
    with nogil:
        for event in range(events):
            if matching.hits.list(event).size() > 0:
                memcpy(
                    &ids_view[at], matching.hits.list(event).data(),
                    matching.hits.list(event).size() * sizeof(uint32_t),
                )
            at += matching.hits.list(event).size()
            offsets_view[event + 1] = at
    scored = None
    if scores:
        scored = np.empty(at, np.float64)
        scores_view = scored
        with nogil:
            score_all(matching, store, ids_view, offsets_view, scores_view)
    work = {"expressions": matching.expressions, "predicates": matching.predicates}
    return Matches(offsets, ids, events, scored, work)


cdef int score_all(
    Matching matching, const ExpressionStore* store, const uint32_t[::1] ids, const uint64_t[::1] offsets,
    double[::1] scores,
) except -1 nogil:
    cdef uint32_t event
    cdef uint64_t at
    for event in range(<uint32_t>(offsets.shape[0] - 1)):
        if offsets[event] == offsets[event + 1]:
            continue
        matching.enter(event)
        for at in range(offsets[event], offsets[event + 1]):
            scores[at] = matching.score(store.words(store.find(ids[at])).data)
        matching.leave(event)
    return 0

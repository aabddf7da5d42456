"""The best matches of each event, from all matches and their scores."""

from cpython.number cimport PyNumber_Index
from libc.stdint cimport uint32_t, uint64_t
from libcpp.algorithm cimport partial_sort
from libcpp.pair cimport pair
from libcpp.vector cimport vector

import numpy as np

from tamis.indexes.matches import Matches


cdef object best_of(matches, k):
    """The `k` best of each event: greatest score first, of equal ones the smaller id."""
    cdef uint64_t most = 0
    if PyNumber_Index(k) < 1:
        raise ValueError(f"k is 1 or more, not {k}")
    most = min(k, len(matches.ids))
    cdef vector[pair[double, uint32_t]] best
    cdef const uint32_t[::1] ids = matches.ids
    cdef const double[::1] scores = matches.scores
    cdef const uint64_t[::1] offsets = matches.offsets
    cdef uint64_t event, at, count, written = 0
    kept = np.minimum(np.diff(matches.offsets), np.uint64(most))
    best_offsets = np.concatenate((np.zeros(1, np.uint64), np.cumsum(kept, dtype=np.uint64)))
    best_ids = np.empty(int(kept.sum()), np.uint32)
    best_scores = np.empty(len(best_ids), np.float64)
    cdef uint32_t[::1] ids_view = best_ids
    cdef double[::1] scores_view = best_scores
    with nogil:
        for event in range(<uint64_t>(offsets.shape[0] - 1)):
            best.clear()
            for at in range(offsets[event], offsets[event + 1]):
                best.push_back(pair[double, uint32_t](-scores[at], ids[at]))
            count = min(most, <uint64_t>best.size())
            partial_sort(best.begin(), best.begin() + count, best.end())
            for at in range(count):
                scores_view[written] = -best[at].first
                ids_view[written] = best[at].second
                written += 1
    return Matches(best_offsets, best_ids, matches.events, best_scores, matches.work)


cdef object joined(list parts):
    """Matches of some events, of the next ones, and so on, as one."""
    offsets = [np.zeros(1, np.uint64)]
    end = np.uint64(0)
    for part in parts:
        offsets.append(part.offsets[1:] + end)
        end += np.uint64(len(part.ids))
    work = {key: sum([part.work[key] for part in parts]) for key in parts[0].work}
    return Matches(
        np.concatenate(offsets), np.concatenate([part.ids for part in parts]), sum([part.events for part in parts]),
        np.concatenate([part.scores for part in parts]), work,
    )

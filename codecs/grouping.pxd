from libc.stdint cimport uint32_t, uint64_t
from libcpp.vector cimport vector

from tamis.codecs.subscription_table cimport SubscriptionTable

# Groups while they are made.
cdef struct Grouped:
    vector[uint32_t] events
    vector[uint32_t] subscribers
    vector[uint64_t] starts
    # Where each id of the groups is among the matches.
    vector[uint64_t] places

"""PSTBloom (PS-Tree, PVLDB 2018, section 5): one access predicate an expression, and signatures.

Algorithm 4 puts an expression into the leaves of its access predicate, and its id into a Bloom filter at each leaf
that another predicate of it covers; algorithm 5 drops a candidate whose id is not in the filters of the event's leaves.
These filters cost a visit to every leaf that a predicate covers, and a look at several lines of memory for each
candidate. Here the same question is asked the other way round: with each posting are the bits of what its expression
needs, and an event is the filter that they are looked up in. So a signature is written once, and read in passing.
"""

from tamis.indexes.access_index cimport AccessIndex


cdef class PstBloom(AccessIndex):
    """Finds expressions by one access predicate, and drops most of them by a signature."""

    name = "pst-bloom"

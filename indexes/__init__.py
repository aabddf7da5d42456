"""Expressions over event attributes, and the structures that find those which an event satisfies.

What is hot is compiled: flat arrays and 32-bit ids, the GIL released at the outermost loop. There is one
writer; between its writes any number of threads may read.

This layer is the lowest. It works on values in memory, knows no Kafka, no Redis and no bytes on a wire, and
imports no other layer.
"""

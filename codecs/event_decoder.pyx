"""Messages to events: what a broker holds one of."""

cimport cython

from tamis.codecs.catalogue import SchemaCatalogue
from tamis.codecs.limits import DecodingLimits, SchemaLimits
from tamis.codecs.messages import Messages

from tamis.codecs.batch_pool cimport BatchPool
from tamis.codecs.decoding cimport Decoding
from tamis.indexes.batch cimport EventBatch

cdef enum:
    IDLE_MAX = 2


@cython.final
cdef class EventDecoder:
    """Knows schemas and limits; a decoder serves any number of threads."""

    def __cinit__(self, schemas=(), registry=None, limits=None, schema_limits=None):
        self.pool = BatchPool()
        self.idle = []
        self.limits = DecodingLimits() if limits is None else limits
        self.catalogue = SchemaCatalogue(schemas, registry, SchemaLimits() if schema_limits is None else schema_limits)

    def decode(self, messages, vocabulary=None):
        """The events of these messages, of one topic or of many.

        Given an index's vocabulary, the batch has what the index can ask about, and nothing may be inserted into the
        index or deleted from it meanwhile. Without, it has everything.
        """
        cdef EventBatch batch = self.pool.take(vocabulary)
        cdef Decoding decoding = self.idle.pop() if self.idle else None
        if decoding is None or not decoding.renew(batch):
            decoding = Decoding(self.catalogue, self.limits, batch)
        for group in (messages,) if isinstance(messages, Messages) else messages:
            decoding.add(group)
        decoded = decoding.finish()
        self.pool.keep(batch)
        if len(self.idle) < IDLE_MAX:
            self.idle.append(decoding)
        return decoded

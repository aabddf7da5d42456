"""Which way each message goes: by its first bytes, or as its topic's configuration says."""

cimport cython
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t

from tamis.codecs import catalogue as schemas
from tamis.codecs.errors import SchemaError
from tamis.codecs.messages import Framing

from tamis.codecs.avro_record cimport FieldPlan
from tamis.codecs.payloads cimport Payloads
from tamis.codecs.sink cimport ACCEPTED, NO_VALUE, TRUNCATED, UNKNOWN_FRAMING, UNKNOWN_SCHEMA, UNUSABLE_SCHEMA, Reason

cdef enum:
    FINGERPRINT_HEADER = 10
    REGISTRY_HEADER = 5


@cython.final
cdef class Routes:
    """Asks the catalogue once for each schema, so that what reads the messages needs no GIL."""

    def __cinit__(self, catalogue):
        self.catalogue = catalogue
        self.plans = []
        self.forget()

    cdef int forget(self) except -1:
        """What the catalogue said: it may know more by now. The plans stay."""
        self.fingerprints = {}
        self.ids = {}
        self.details = {}
        self.last_place = NO_ROUTE
        self.routes.clear()
        return 0

    cdef int follow(self, format, Payloads values) except -1:
        """Make the routes of these messages."""
        cdef size_t index
        cdef Route same = Route(JSON_ROUTE, ACCEPTED, 0)
        cdef bint detects = format.framing == Framing.DETECT
        cdef bint is_same = format.framing == Framing.RAW or format.framing == Framing.JSON
        self.takes_single_object = detects or format.framing == Framing.SINGLE_OBJECT
        self.takes_confluent = detects or format.framing == Framing.CONFLUENT
        self.takes_json = detects
        self.routes.clear()
        self.routes.reserve(values.data.size())
        if format.framing == Framing.RAW:
            same.reader = self.place_of(self.catalogue.by_text(format.schema))
        for index in range(values.data.size()):
            if values.data[index] == NULL:
                self.routes.push_back(no_route(NO_VALUE))
            elif is_same:
                self.routes.push_back(same)
            elif values.sizes[index] == 0:
                self.routes.push_back(no_route(TRUNCATED))
            else:
                self.routes.push_back(self.route_of(values.data[index], values.sizes[index]))
        return 0

    cdef Route route_of(self, const char* data, size_t size) except *:
        cdef uint8_t first = <uint8_t>data[0]
        if first == 0xC3 and self.takes_single_object:
            return self.single_object(data, size)
        if first == 0 and self.takes_confluent:
            return self.confluent(data, size)
        if self.takes_json and (first == c"{" or first == c" " or first == 9 or first == 10 or first == 13):
            return Route(JSON_ROUTE, ACCEPTED, 0)
        return no_route(UNKNOWN_FRAMING)

    cdef Route single_object(self, const char* data, size_t size) except *:
        cdef uint64_t fingerprint = 0
        cdef uint32_t index
        if size > 1 and data[1] != 1:
            return no_route(UNKNOWN_FRAMING)
        if size < FINGERPRINT_HEADER:
            return no_route(TRUNCATED)
        for index in range(8):
            fingerprint |= <uint64_t><uint8_t>data[2 + index] << 8 * index
        if fingerprint == self.last_fingerprint and self.last_place != NO_ROUTE:
            return Route(self.last_place, ACCEPTED, FINGERPRINT_HEADER)
        known = self.fingerprints.get(fingerprint)
        if known is None:
            plan = self.catalogue.by_fingerprint(fingerprint)
            known = NO_ROUTE if plan is None else self.place_of(plan)
            self.fingerprints[fingerprint] = known
        if known == NO_ROUTE:
            return no_route(UNKNOWN_SCHEMA)
        self.last_fingerprint = fingerprint
        self.last_place = known
        return Route(self.last_place, ACCEPTED, FINGERPRINT_HEADER)

    cdef Route confluent(self, const char* data, size_t size) except *:
        if size < REGISTRY_HEADER:
            return no_route(TRUNCATED)
        cdef uint32_t schema_id = schema_id_of(data)
        known = self.ids.get(schema_id)
        if known is None:
            reader = self.catalogue.by_id(schema_id)
            if isinstance(reader, FieldPlan):
                known = self.place_of(reader)
            elif reader == schemas.JSON_PAYLOAD:
                known = JSON_ROUTE
            else:
                known = NO_ROUTE
                if isinstance(reader, SchemaError):
                    self.details[schema_id] = str(reader)
            self.ids[schema_id] = known
        if known == NO_ROUTE:
            return no_route(UNUSABLE_SCHEMA if schema_id in self.details else UNKNOWN_SCHEMA)
        return Route(known, ACCEPTED, REGISTRY_HEADER)

    cdef str detail_of(self, const char* data):
        """Why the schema of a message cannot be used."""
        return self.details[schema_id_of(data)]

    cdef int32_t place_of(self, plan) except? -1:
        if (<FieldPlan?>plan).is_event:
            return EVENT_ROUTE
        if plan not in self.plans:
            self.plans.append(plan)
        return self.plans.index(plan)


cdef inline uint32_t schema_id_of(const char* data) noexcept:
    cdef uint32_t schema_id = 0
    cdef uint32_t index
    for index in range(1, REGISTRY_HEADER):
        schema_id = schema_id << 8 | <uint8_t>data[index]
    return schema_id


cdef inline Route no_route(Reason reason) noexcept:
    return Route(NO_ROUTE, reason, 0)

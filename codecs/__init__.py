"""Bytes on a wire to events and back.

Events are decoded straight into the columns of an `EventBatch`: `EventDecoder` finds for each message what reads it (by
its framing, its schema, its topic's configuration), and readers for Avro and JSON put values into an event sink, which
knows names and strings by what the messages before had. No object is made for a value, and nothing is believed: every
length is checked, and every message costs at most a multiple of its bytes.

Notifications go the other way: matches are grouped by subscriber (`grouping`), and their bytes are put together from
what a table has ready for each subscription and from the event's own, as they came (`notification_encoder`). Records of
which there are few, such as layouts, are plain objects that write and read themselves, by the schemas in `schemas/`, of
which every version that was ever released stays readable (`released`). Subscriptions are, too, but many are read at
once, into columns (`subscription_reader`).

This layer may use `indexes`; it knows no Kafka and no Redis, only the bytes that travel through them.
"""

from collections.abc import Iterable
from typing import final

from tamis.codecs.decoded_events import DecodedEvents
from tamis.codecs.limits import DecodingLimits, SchemaLimits
from tamis.codecs.messages import Messages
from tamis.codecs.registry import SchemaRegistry
from tamis.indexes.vocabulary import Vocabulary

@final
class EventDecoder:
    def __new__(
        cls,
        schemas: Iterable[str] = ...,
        registry: SchemaRegistry | None = ...,
        limits: DecodingLimits = ...,
        schema_limits: SchemaLimits = ...,
    ) -> EventDecoder: ...
    def decode(
        self, messages: Messages | Iterable[Messages], vocabulary: Vocabulary | None = None
    ) -> DecodedEvents: ...

from typing import final

from tamis.codecs.catalogue import SchemaCatalogue
from tamis.codecs.limits import DecodingLimits
from tamis.indexes.batch import EventBatch

@final
class Decoding:
    def __new__(cls, catalogue: SchemaCatalogue, limits: DecodingLimits, batch: EventBatch) -> Decoding: ...

from collections.abc import Iterable
from typing import final

import numpy as np
import numpy.typing as npt

from tamis.codecs.decoded import LeftOut
from tamis.codecs.limits import DecodingLimits, SchemaLimits
from tamis.codecs.messages import Messages
from tamis.codecs.reasons import Refusal
from tamis.codecs.registry import SchemaRegistry
from tamis.indexes.batch import EventBatch
from tamis.indexes.vocabulary import Vocabulary

@final
class DecodedEvents:
    @property
    def batch(self) -> EventBatch: ...
    @property
    def refusals(self) -> list[Refusal]: ...
    @property
    def left_out(self) -> LeftOut: ...
    @property
    def positions(self) -> npt.NDArray[np.uint32]: ...
    @property
    def times(self) -> npt.NDArray[np.int64]: ...
    def id(self, event: int) -> str: ...
    def __len__(self) -> int: ...

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

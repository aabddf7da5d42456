from collections.abc import Iterable
from typing import final

from tamis.codecs.messages import ArrowArray

@final
class Payloads:
    def __new__(cls, values: Iterable[bytes | None] | ArrowArray) -> Payloads: ...
    def __len__(self) -> int: ...

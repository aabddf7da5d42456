from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

@final
class FrozenIndex:
    def __len__(self) -> int: ...
    def save(
        self,
        path: str | PathLike[str],
        columns: Mapping[str, NDArray[Any]] = ...,
        metadata: Mapping[str, Any] = ...,
    ) -> None: ...
    def words(self, slots: NDArray[np.uint32]) -> Iterator[memoryview | NDArray[Any]]: ...
    def string_bytes(self) -> Iterator[bytearray]: ...

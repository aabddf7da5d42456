from collections.abc import Mapping
from os import PathLike
from typing import Any, final

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

from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis.indexes.vocabulary import Vocabulary

@final
class FrozenStrings:
    @property
    def id_bound(self) -> int: ...
    def columns(self, ids: ArrayLike) -> tuple[NDArray[np.uint64], NDArray[np.uint8]]: ...

def frozen_strings(vocabulary: Vocabulary) -> FrozenStrings: ...
def restored_strings(ids: ArrayLike, starts: ArrayLike, data: ArrayLike, references: ArrayLike) -> Vocabulary: ...

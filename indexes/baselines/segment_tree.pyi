from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis.indexes.baselines.intervals import Intervals

@final
class SegmentTree(Intervals):
    def place_many(self, values: ArrayLike) -> NDArray[np.uint64]: ...

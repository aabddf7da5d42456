from collections.abc import Mapping
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tamis.indexes.columnar import Expressions

class Snapshot(NamedTuple):
    expressions: Expressions
    ids: NDArray[np.uint32]
    columns: Mapping[str, NDArray[Any]]
    metadata: Mapping[str, Any]
    engine: str

def read_snapshot(path: str | PathLike[str]) -> Snapshot: ...

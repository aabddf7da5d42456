from typing import final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamis.codecs.formats import NotificationFormat
from tamis.codecs.subscription_table import SubscriptionTable
from tamis.indexes.string_columns import FrozenStrings

@final
class FrozenTable:
    @property
    def format(self) -> NotificationFormat: ...
    @property
    def texts(self) -> FrozenStrings: ...
    def ids(self) -> NDArray[np.uint32]: ...
    def columns(self, ids: ArrayLike) -> tuple[NDArray[np.uint32], NDArray[np.bool_], NDArray[np.uint32]]: ...

def frozen_table(table: SubscriptionTable) -> FrozenTable: ...
def restored_table(
    format: NotificationFormat,
    saved: NotificationFormat,
    ids: NDArray[np.uint32],
    subscribers: NDArray[np.uint32],
    scores: NDArray[np.bool_],
    texts: NDArray[np.uint32],
    text_ids: NDArray[np.uint32],
    starts: NDArray[np.uint64],
    data: NDArray[np.uint8],
) -> SubscriptionTable: ...
def check_strings(starts: NDArray[np.uint64], data: NDArray[np.uint8]) -> None: ...

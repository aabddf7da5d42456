from typing import final

from tamis.indexes.baselines.intervals import Intervals

@final
class IntervalTree(Intervals): ...

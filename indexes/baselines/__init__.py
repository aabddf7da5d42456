"""What the papers compare their structures with, under a smaller contract: build, find, count, memory.

Those for one dimension hold closed intervals of doubles, each with an id, and are built once.
"""

from tamis.indexes.baselines.interval_tree import IntervalTree
from tamis.indexes.baselines.intervals import Intervals
from tamis.indexes.baselines.segment_tree import SegmentTree

ONE_DIMENSION: dict[str, type[Intervals]] = {index.name: index for index in (IntervalTree, SegmentTree)}

__all__ = ["ONE_DIMENSION", "IntervalTree", "Intervals", "SegmentTree"]

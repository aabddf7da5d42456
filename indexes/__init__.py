"""Expressions over event attributes, and the structures that find those which an event satisfies.

What is hot is compiled: flat arrays and 32-bit ids, the GIL released at the outermost loop. There is one
writer; between its writes any number of threads may read.

This layer is the lowest. It works on values in memory, knows no Kafka, no Redis and no bytes on a wire, and
imports no other layer.
"""

from tamis.indexes.batch import EventBatch
from tamis.indexes.columnar import Expressions, parse_many
from tamis.indexes.engines import DEFAULT_ENGINE, ENGINES, create, load
from tamis.indexes.errors import EventError, ExpressionError, IndexBroken, IndexBusy, SnapshotError, StaleBatchError
from tamis.indexes.explanation import Explanation
from tamis.indexes.expressions import Expression, parse
from tamis.indexes.index import Index
from tamis.indexes.limits import Limits
from tamis.indexes.matches import Matches

__all__ = [
    "DEFAULT_ENGINE",
    "ENGINES",
    "EventBatch",
    "EventError",
    "Explanation",
    "Expression",
    "ExpressionError",
    "Expressions",
    "Index",
    "IndexBroken",
    "IndexBusy",
    "Limits",
    "Matches",
    "SnapshotError",
    "StaleBatchError",
    "create",
    "load",
    "parse",
    "parse_many",
]

"""Tamis, a content-based publish/subscribe broker on Kafka.

Its layers are the subpackages `indexes`, `codecs`, `broker`, `admin` and `spark_sink`; imports point from the later to
the earlier ones only.
"""

import sys as _sys
from importlib.util import find_spec as _find_spec


def _is_built() -> bool:
    """Whether a compiled module is found; without importing its package, which takes a while."""
    package = _find_spec("tamis.indexes")
    return package is not None and any(
        finder.find_spec("tamis.indexes.vocabulary", package.submodule_search_locations) for finder in _sys.meta_path
    )


if not _is_built():
    raise ImportError(
        "Tamis's compiled modules are missing: this source tree was not built. Run `make`, or `pip install .`."
    )

"""Tamis, a content-based publish/subscribe broker on Kafka.

Its layers are the subpackages `indexes`, `codecs`, `broker`, `admin` and `spark_sink`; imports point from the later to
the earlier ones only.
"""

from importlib.util import find_spec as _find_spec

if _find_spec("tamis.indexes.vocabulary") is None:
    raise ImportError(
        "Tamis's compiled modules are missing: this source tree was not built. Run `make`, or `pip install .`."
    )

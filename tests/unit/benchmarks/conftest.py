"""The benchmarks are no part of the package: they are imported from the root of the tree, and nothing else is."""

import importlib.util
import sys
from pathlib import Path

_FOLDER = Path(__file__).parents[3] / "benchmarks"

if "benchmarks" not in sys.modules:
    _SPEC = importlib.util.spec_from_file_location(
        "benchmarks", _FOLDER / "__init__.py", submodule_search_locations=[str(_FOLDER)]
    )
    assert _SPEC is not None
    assert _SPEC.loader is not None
    sys.modules["benchmarks"] = importlib.util.module_from_spec(_SPEC)
    _SPEC.loader.exec_module(sys.modules["benchmarks"])

"""Libraries of the tests' own that stand before glibc's."""

import subprocess
from pathlib import Path


def compiled(name: str, folder: Path) -> Path:
    """The library of this source in `tests/support`."""
    source, library = Path(__file__).with_name(f"{name}.cpp"), folder / f"{name}.so"
    subprocess.run(["c++", "-std=c++20", "-O2", "-fPIC", "-shared", "-o", library, source, "-ldl"], check=True)
    return library

"""What fuzz targets share: `python tests/support/fuzzing.py TARGET` runs `tests/fuzz/TARGET.py`, which calls `fuzz`.

Two processes, since sanitizers and libFuzzer must be in a process before Python is: the first one chooses the
libraries and tells how to repeat what the second one, the target, found.
"""

import argparse
import contextlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
TARGETS = ROOT / "tests" / "fuzz"
LIBRARY = Path(sys.prefix) / "libfuzzer.so"

_OPTIONS = {
    # Coverage comes first. A death is told by a signal, at which libFuzzer keeps the input.
    "ASAN_OPTIONS": "verify_asan_link_order=0:abort_on_error=1:detect_leaks=0:quarantine_size_mb=16",
    "UBSAN_OPTIONS": "abort_on_error=1:print_stacktrace=1",
    "PYTHONMALLOC": "malloc",
    "PYTHONHASHSEED": "0",
    "PYTHONPATH": str(ROOT / "tests" / "support"),
}
_TIMEOUT_S = 20
"""For one input; generous, since others use the machine too."""
_RSS_LIMIT_MB = 2048
"""Of which caches of regular expressions may take up to 1.3 GB."""


def instrumented() -> contextlib.AbstractContextManager[Any]:
    """What is imported within this context tells the fuzzer which of its Python branches are taken."""
    from atheris.import_hook import instrument_imports

    manager: contextlib.AbstractContextManager[Any] = instrument_imports(include=["tamis"])
    return manager


def fuzz(
    check: Callable[[bytes], None], *, seeds: Iterable[bytes], words: Iterable[bytes], bytes_max: int = 1024
) -> None:
    """Call `check` with ever new inputs, made of the seeds and of words that random bytes would hardly spell.

    The seeds are laid down before each run; what was found is kept beside them. This does not return.
    """
    import atheris

    folder = _folder(Path(sys.argv[0]).stem)
    for number, seed in enumerate(seeds):
        if len(seed) <= bytes_max:
            (folder / "seeds" / f"{number:05}").write_bytes(seed)
    lines = ['"' + "".join(f"\\x{byte:02x}" for byte in word) + '"\n' for word in words]
    (folder / "dictionary").write_text("".join(lines))
    atheris.Setup([*sys.argv, f"-max_len={bytes_max}"], check)
    atheris.Fuzz()


def _folder(target: str) -> Path:
    return ROOT / "build" / "fuzz" / target


def _preloaded() -> str:
    """The libraries that must come before Python, in this order."""
    compiler = os.environ.get("CXX", "c++")
    found = [str(LIBRARY)]
    for name in ("libasan.so", "libubsan.so"):
        path = subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        if not Path(path).is_absolute():
            raise SystemExit(f"{compiler} has no {name}: the sanitizers are gcc's. Name a g++: make fuzz CXX=g++")
        found.append(path)
    return " ".join(found)


def main() -> int:
    targets = sorted(path.stem for path in TARGETS.glob("*.py"))
    parser = argparse.ArgumentParser(description="Look for an input that breaks a promise.")
    parser.add_argument("target", choices=targets)
    parser.add_argument("inputs", nargs="*", help="files to try, instead of making inputs")
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()

    folder = _folder(options.target)
    for kept in ("corpus", "seeds"):
        (folder / kept).mkdir(parents=True, exist_ok=True)
    before = set(folder.iterdir())
    arguments = [f"-timeout={_TIMEOUT_S}", f"-report_slow_units={_TIMEOUT_S}", f"-rss_limit_mb={_RSS_LIMIT_MB}"]
    arguments += [f"-artifact_prefix={folder}/", "-print_final_stats=1", "-detect_leaks=0"]
    if options.inputs:
        arguments += options.inputs
    else:
        arguments += [f"-max_total_time={options.seconds}", f"-dict={folder / 'dictionary'}"]
        arguments += [str(folder / "corpus"), str(folder / "seeds")]
    target = [sys.executable, str(TARGETS / f"{options.target}.py"), *arguments]
    done = subprocess.run(target, env=os.environ | _OPTIONS | {"LD_PRELOAD": _preloaded()}, check=False)
    for path in sorted(set(folder.iterdir()) - before - {folder / "dictionary"}):
        name = path.relative_to(ROOT) if path.is_relative_to(ROOT) else path
        print(f"again: make fuzz FUZZ_TARGETS={options.target} ARGS={name}", file=sys.stderr)
    return 1 if done.returncode else 0


if __name__ == "__main__":
    sys.exit(main())

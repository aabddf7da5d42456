"""What fuzz targets share: `python tests/support/fuzzing.py TARGET` runs `tests/fuzz/TARGET.py`, which calls `fuzz`.

Two processes, since sanitizers and libFuzzer must be in a process before Python is: the first one chooses the
libraries and tells how to repeat what the second one, the target, found.
"""

import argparse
import contextlib
import functools
import os
import shutil
import signal
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
    atheris.Setup([*sys.argv, f"-max_len={bytes_max}"], functools.partial(_check_untimed_at_the_end, check))
    atheris.Fuzz()


def _check_untimed_at_the_end(check: Callable[[bytes], None], data: bytes) -> None:
    try:
        check(data)
    except BaseException:
        # libFuzzer's timer goes on, and once Python has put away the handler it would kill the process, before
        # libFuzzer has kept the input.
        signal.setitimer(signal.ITIMER_REAL, 0)
        raise


def _folder(target: str) -> Path:
    return ROOT / "build" / "fuzz" / target


def _preloaded() -> str:
    """The libraries that must come before Python, in this order."""
    compiler = os.environ.get("CXX", "c++")
    sanitizers = [
        subprocess.check_output([compiler, f"-print-file-name={name}"], text=True).strip()
        for name in ("libasan.so", "libubsan.so")
    ]
    return " ".join([str(LIBRARY), *sanitizers])


def _holds(target: str, *arguments: str) -> bool:
    """Whether the target's promises held for all inputs."""
    command = [
        *(sys.executable, str(TARGETS / f"{target}.py"), *arguments),
        *(f"-timeout={_TIMEOUT_S}", f"-report_slow_units={_TIMEOUT_S}", f"-rss_limit_mb={_RSS_LIMIT_MB}"),
        *(f"-artifact_prefix={_folder(target)}/", "-print_final_stats=1", "-detect_leaks=0"),
    ]
    environment = os.environ | _OPTIONS | {"LD_PRELOAD": _preloaded()}
    return subprocess.run(command, env=environment, check=False).returncode == 0


def main() -> int:
    targets = sorted(path.stem for path in TARGETS.glob("*.py"))
    parser = argparse.ArgumentParser(description="Look for an input that breaks a promise.")
    parser.add_argument("target", choices=targets)
    parser.add_argument("inputs", nargs="*", help="files to try, instead of making inputs")
    parser.add_argument("--seconds", type=int, default=600)
    options = parser.parse_args()

    folder = _folder(options.target)
    shutil.rmtree(folder / "seeds", ignore_errors=True)
    for made in ("corpus", "seeds"):
        (folder / made).mkdir(parents=True, exist_ok=True)
    if options.inputs:
        return 0 if _holds(options.target, *options.inputs) else 1
    found_before = {*folder.iterdir(), folder / "dictionary"}
    time_and_words = (f"-max_total_time={options.seconds}", f"-dict={folder / 'dictionary'}")
    holds = _holds(options.target, *time_and_words, str(folder / "corpus"), str(folder / "seeds"))
    for path in sorted(set(folder.iterdir()) - found_before):
        if path.name.startswith("timeout-") and _holds(options.target, str(path)):
            print("It ended in time when it was repeated: the machine stood still.", file=sys.stderr)
            path.unlink()
            holds = True
        else:
            print(f"again: make fuzz FUZZ_TARGETS={options.target} ARGS={path.relative_to(ROOT)}", file=sys.stderr)
    return 0 if holds else 1


if __name__ == "__main__":
    sys.exit(main())

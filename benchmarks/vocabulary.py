"""What a string costs in the vocabulary: time, bytes, and the longest a single write takes.

    python -m benchmarks.vocabulary [--strings N]

Times are of Python loops, so they hold the interpreter's share too; a `dict` and a `set` of the same strings stand
beside, measured in the same run, best of three. Latencies are thread CPU time.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable

from benchmarks.report import Report
from benchmarks.timing import per_second
from tamis.indexes.vocabulary import Vocabulary


def longest_ms(call: Callable[[str], object], texts: Iterable[str]) -> float:
    longest = 0
    for text in texts:
        began = time.thread_time_ns()
        call(text)
        longest = max(longest, time.thread_time_ns() - began)
    return longest / 1e6


def interned(texts: list[str]) -> Vocabulary:
    vocabulary = Vocabulary()
    for text in texts:
        vocabulary.intern(text)
    return vocabulary


def as_dict(texts: list[str]) -> dict[str, int]:
    ids: dict[str, int] = {}
    for text in texts:
        ids.setdefault(text, len(ids))
    return ids


def main() -> None:
    """Print tables, and keep them."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--strings", type=int, default=1_000_000)
    count = parser.parse_args().strings
    texts = [f"attr-{number:07}" for number in range(count)]
    absent = [f"none-{number:07}" for number in range(count)]
    vocabulary, ids = interned(texts), as_dict(texts)

    def find_all(wanted: list[str]) -> None:
        for text in wanted:
            vocabulary.find(text)

    def get_all(wanted: list[str]) -> None:
        for text in wanted:
            ids.get(text)

    own = sum(map(len, texts))
    of_dict = sys.getsizeof(ids) + sum(sys.getsizeof(text) + sys.getsizeof(number) for text, number in ids.items())
    growing = Vocabulary()
    longest_intern = longest_ms(growing.intern, texts)
    longest_release = longest_ms(lambda text: growing.release(growing.find(text) or 0), texts)
    report = Report("vocabulary")
    table = f"{count:,} strings of {own // count} bytes"
    for name, mine, theirs in [
        ("intern a new string, a second", lambda: interned(texts), lambda: as_dict(texts)),
        ("find, a second", lambda: find_all(texts), lambda: get_all(texts)),
        ("find what is not there, a second", lambda: find_all(absent), lambda: get_all(absent)),
    ]:
        report.row(table, what=name, vocabulary=per_second(count, mine), dict=per_second(count, theirs))
    beside = "bytes a string beside its own"
    report.row(table, what=beside, vocabulary=(vocabulary.memory_bytes() - own) / count, dict=(of_dict - own) / count)
    report.row("Longest single call", what="intern", milliseconds=longest_intern)
    report.row("Longest single call", what="find and release", milliseconds=longest_release)
    report.show()
    print(f"\nKept in {report.keep()}")


if __name__ == "__main__":
    main()

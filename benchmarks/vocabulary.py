"""What a string costs in the vocabulary: time, bytes, and the longest a single write takes.

    python -m benchmarks.vocabulary [--strings N]

Times are of Python loops, so they hold the interpreter's share too; a `dict` and a `set` of the same strings stand
beside, measured in the same run, best of three. Latencies are thread CPU time.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterable

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
    """Print one line a measure."""
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
    print(f"{count:,} strings of {own // count} bytes       vocabulary        dict")
    for name, ours, theirs in [
        ("intern a new string, per s", lambda: interned(texts), lambda: as_dict(texts)),
        ("find, per s", lambda: find_all(texts), lambda: get_all(texts)),
        ("find what is not there, per s", lambda: find_all(absent), lambda: get_all(absent)),
    ]:
        print(f"{name:32} {per_second(count, ours):13,.0f} {per_second(count, theirs):11,.0f}")
    per_string = (vocabulary.memory_bytes() - own) / count
    print(f"{'bytes a string beside its own':32} {per_string:13.1f} {(of_dict - own) / count:11.1f}")
    print(f"{'longest intern, ms':32} {longest_intern:13.2f}")
    print(f"{'longest find and release, ms':32} {longest_release:13.2f}")


if __name__ == "__main__":
    main()

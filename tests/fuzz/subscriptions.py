"""Any bytes as a record of the subscription topic: read among others as `Subscription.decode` reads it alone."""

import json
from collections.abc import Iterator

from fuzzing import ROOT, fuzz, instrumented

with instrumented():
    from subscription_verdicts import check as check_records
    from tamis.codecs.subscription import Subscription

GOOD = Subscription("ann", "n", "a = 1", {"k": "v"})


def check_record(data: bytes) -> None:
    """The first byte says how long the key is."""
    size = data[0] if data else 0
    key, value = data[1 : 1 + size], data[1 + size :]
    check_records([(GOOD.key, GOOD.encode()), (key, value), (GOOD.key, value), (key, GOOD.encode())])


def seeds() -> Iterator[bytes]:
    case = json.loads((ROOT / "tests" / "cases" / "released.json").read_text())["subscription-1"]
    for sample in case["records"]:
        value = bytes.fromhex(sample["bytes"])
        key = Subscription.decode(value).key
        yield bytes([len(key)]) + key + value
    yield bytes([len(GOOD.key)]) + GOOD.key + GOOD.encode()


def words() -> Iterator[bytes]:
    yield from (GOOD.encode()[:10], b"\x01\x08", b"\xff" * 9 + b"\x01", b"\xed\xa0\x80", b"\x02\x02k\x02v")


if __name__ == "__main__":
    fuzz(check_record, seeds=seeds(), words=words(), bytes_max=512)

"""Any bytes at all behind the header of an `Event`: refused well, or the event that fastavro reads."""

from collections.abc import Iterator
from typing import Any

from fuzzing import fuzz, instrumented

with instrumented():
    import reference
    from decoder_fuzzing import check_same, verdict
    from decoding import EVENT_SCHEMA, avro_value, flattened
    from tamis.codecs.event_schema import EVENT_HEADER
    from tamis.codecs.messages import DETECT


def check(data: bytes) -> None:
    check_same(verdict(EVENT_HEADER + data, DETECT), lambda: expected(data))


def expected(data: bytes) -> dict[str, Any]:
    attributes = avro_value(EVENT_SCHEMA, data)["attributes"]
    return flattened({name: value for name, value in attributes.items() if not name.startswith("$")})


def seeds() -> Iterator[bytes]:
    for case in reference.cases("decode"):
        data = bytes.fromhex(case.get("hex", ""))
        if data.startswith(EVENT_HEADER):
            yield data.removeprefix(EVENT_HEADER)


def words() -> Iterator[bytes]:
    yield from (b"\x02a\x00\x02", b"\x06a.b\x04\x02a", b"\x02d\x02\0\0\0\0\0\0\xf8\x7f", b"\x02b\x06\x01", b"\x01\x08")
    yield from (b"\xff" * 9 + b"\x01", b"\x80" * 9 + b"\x01", b"\x04$a\x00\x02", b"\xed\xa0\x80", b"\xf0\x9f\x98\x80")


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words())

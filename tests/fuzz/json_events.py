"""Any text at all as JSON: taken if and only if the standard library takes it, and then the same event."""

from collections.abc import Iterator

from fuzzing import fuzz, instrumented

with instrumented():
    import reference
    from decoder_fuzzing import check_same, verdict
    from decoding import NotDecodable, flattened, json_value
    from tamis.codecs.messages import EventFormat, Framing
    from tamis.codecs.reasons import Reason, Refusal

FORMAT = EventFormat(Framing.JSON)
OURS = {Reason.TOO_DEEP}
"""What the standard library does not refuse."""


def check(data: bytes) -> None:
    found = verdict(data, FORMAT)
    check_same(found, lambda: flattened(json_value(data)))
    if isinstance(found, Refusal) and found.reason not in OURS:
        try:
            flattened(json_value(data))
        except NotDecodable:
            return
        raise AssertionError(f"only we refuse it: {found}")


def seeds() -> Iterator[bytes]:
    for case in reference.cases("decode"):
        if "text" in case:
            yield case["text"].encode()
        elif case.get("format", {}).get("framing") == "json":
            yield bytes.fromhex(case["hex"])


def words() -> Iterator[bytes]:
    yield from (b'{"a":', b'"a.b":', b'"$x":1', b"true", b"false", b"null", b"-0.0", b"1e5", b"9223372036854775808")
    yield from (rb"\u0041", rb"\ud83d\ude00", rb"\ud83d", b"\xf0\x9f\x98\x80", b"\xed\xa0\x80", b"[1,", b"{}", b"[]")


if __name__ == "__main__":
    fuzz(check, seeds=seeds(), words=words())

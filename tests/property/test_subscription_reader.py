"""Many records of the subscription topic at once, beside `Subscription.decode` of each."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from records import NAMES, TAGS, TEXTS, in_blocks, zigzag
from subscription_verdicts import Record, check
from tamis.codecs import released
from tamis.codecs.subscription import Subscription, key_of

SCHEMA = released.newest("Subscription")
CUTS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=5)


SUBSCRIPTIONS: SearchStrategy[Subscription] = st.builds(
    Subscription,
    st.one_of(st.sampled_from(["ann", "bob"]), NAMES),
    st.one_of(NAMES, st.text("_aZ", min_size=1, max_size=3)),
    st.one_of(TEXTS, st.text("abé", min_size=60, max_size=70)),
    st.one_of(TAGS, st.just({"team": "a"})),
    st.booleans(),
    st.one_of(st.none(), TEXTS),
)
VALID = SUBSCRIPTIONS.map(lambda one: (one.key, one.encode()))


@st.composite
def damaged(draw: DrawFn) -> Record:
    """Some bytes of the value are others, or missing, or more."""
    one = draw(SUBSCRIPTIONS)
    value = bytearray(one.encode())
    for _ in range(draw(st.integers(0, 3))):
        place = draw(st.integers(0 if draw(st.booleans()) else 10, len(value) - 1))
        value[place : place + draw(st.integers(0, 1))] = draw(st.binary(max_size=2))
    return one.key, bytes(value[: draw(st.integers(0, len(value)))] if draw(st.booleans()) else value)


@st.composite
def written_by_others(draw: DrawFn) -> Record:
    """Tags in blocks of any length, perhaps with a key that is there twice; whole numbers longer than need be."""
    one, cuts = draw(SUBSCRIPTIONS), draw(CUTS)
    turns = iter(range(1 << 30))
    parts = [
        in_blocks(field["type"], getattr(one, field["name"]), lambda: cuts[next(turns) % len(cuts)])
        for field in SCHEMA.source["fields"]
    ]
    if draw(st.booleans()):
        tag = in_blocks("string", draw(TEXTS), lambda: (1, False)) + in_blocks("string", "", lambda: (1, False))
        parts[3] = zigzag(2) + tag + tag + parts[3]
    for place in draw(st.lists(st.integers(0, 3), max_size=2)):
        first = next(at for at, byte in enumerate(parts[place]) if byte < 128)
        parts[place] = parts[place][:first] + bytes([parts[place][first] | 128, 0]) + parts[place][first + 1 :]
    return one.key, SCHEMA.header + b"".join(parts)


@st.composite
def with_another_key(draw: DrawFn) -> Record:
    one = draw(SUBSCRIPTIONS)
    keys = st.one_of(
        SUBSCRIPTIONS.map(lambda other: other.key),
        st.just(key_of(one.subscriber, one.name[:-1] + "é")),
        st.just(f"{one.subscriber}{one.name}/".encode()),
        st.sampled_from([b"", b"/", b"a", b"a/", b"/a", b"a_b/c", b"a/b/c", b"\xff/a", b"a/\xff", b"\xed\xa0\x80/a"]),
        st.sampled_from([b"a" * 201 + b"/b", b"a/" + b"b" * 201, b"a/b\n", b"a\0/b", "é/a".encode()]),
        st.binary(max_size=8),
        st.none(),
    )
    return draw(keys), draw(st.sampled_from([one.encode(), b"", None]))


ANY = st.one_of(
    VALID,
    VALID.map(lambda record: (record[0], None)),
    VALID.map(lambda record: (record[0], b"")),
    damaged(),
    written_by_others(),
    with_another_key(),
    st.tuples(VALID.map(lambda record: record[0]), st.binary(max_size=40).map(lambda tail: SCHEMA.header + tail)),
    st.tuples(VALID.map(lambda record: record[0]), st.binary(max_size=40)),
)


@given(st.lists(ANY, max_size=6))
def test_each_gets_the_verdict_that_it_gets_alone(records: list[Record]) -> None:
    check(records)


@given(SUBSCRIPTIONS, st.integers(0, 7))
def test_every_beginning_of_a_record_is_refused(one: Subscription, bit: int) -> None:
    value = one.encode()
    check([(one.key, value[:end]) for end in range(len(value) + 1)])
    check([(one.key, value[:at] + bytes([value[at] ^ 1 << bit]) + value[at + 1 :]) for at in range(len(value))])


@pytest.mark.parametrize(
    "tail",
    [
        b"\x00",  # trailing
        b"\xff" * 9 + b"\x01",
        b"\x06\xff\xfe\xfd",
        b"\x06\xed\xa0\x80",
        b"\x01",
        b"\xff" * 9 + b"\x03",
    ],
)
def test_strings_that_are_none(tail: bytes) -> None:
    """In each place where one is."""
    head = SCHEMA.header + b"\x02a\x02b"
    check([(b"a/b", SCHEMA.header + tail), (b"a/b", SCHEMA.header + b"\x02a" + tail)])
    check([(b"a/b", head + tail), (b"a/b", head + tail + b"\0\0\0"), (b"a/b", head + b"\x02x\x00\x00" + tail)])
    for tags in (b"\x02", b"\x02\x02k", b"\x01\x08\x02k", b"\x01"):
        check([(b"a/b", head + b"\x02x" + tags + tail + b"\0\0\0")])
    check([(b"a/b", head + b"\x02x\x00\x00\x02" + tail), (b"a/b", head + b"\x02x\x00\x00\x00" + tail)])


@pytest.mark.parametrize(
    "header", [b"\xc3", b"\xc3\x01", b"\xc3\x02" + bytes(8), b"\xc3\x01" + bytes(8), b"{", b"\x00"]
)
def test_other_schemas(header: bytes) -> None:
    rest = Subscription("a", "b", "x").encode()[10:]
    check([(b"a/b", header), (b"a/b", header + rest)])
    check([(b"a/b", schema.header + rest) for schema in released.RELEASED.values()])


@pytest.mark.parametrize("more", [b"", b"\x80" * 8 + b"\x00", b"\x80" * 8 + b"\x02", b"\x80" * 9 + b"\x00"])
def test_numbers_longer_than_need_be(more: bytes) -> None:
    """Up to ten bytes and 64 bits; beyond that none, whatever is left of it."""

    def long(byte: int) -> bytes:
        return bytes([byte | 128]) + more if more else bytes([byte])

    head = SCHEMA.header
    records = [
        head + long(2) + b"a\x02b\x02x\x00\x00\x00",
        head + b"\x02a\x02b" + long(2) + b"x\x00\x00\x00",
        head + b"\x02a\x02b\x02x" + long(0) + b"\x00\x00",
        head + b"\x02a\x02b\x02x" + long(2) + b"\x02k\x02v\x00\x00\x00",
        head + b"\x02a\x02b\x02x\x01" + long(8) + b"\x02k\x02v\x00\x00\x00",
        head + b"\x02a\x02b\x02x\x02\x02k\x02v" + long(0) + b"\x00\x00",
        head + b"\x02a\x02b\x02x\x00\x00" + long(0),
        head + b"\x02a\x02b\x02x\x00\x00" + long(2) + b"\x02p",
    ]
    check([(b"a/b", value) for value in records])

"""Tamis's own records and fastavro read what the other wrote; and no bytes do harm."""

import io
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from records import RECORDS, in_blocks, physical, records
from tamis.codecs import released
from tamis.codecs.avro_types import Input
from tamis.codecs.errors import RecordError

CUTS = st.lists(st.tuples(st.integers(1, 3), st.booleans()), min_size=1, max_size=5)


def fields_of(name: str, data: bytes) -> dict[str, Any]:
    return released.decode(released.newest(name), data)


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
def test_what_is_written_is_read(name: str, data: st.DataObject) -> None:
    record = data.draw(records(name))
    assert RECORDS[name].decode(record.encode()) == record


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
def test_fastavro_reads_and_writes_the_same(name: str, data: st.DataObject) -> None:
    schema = released.newest(name)
    source = physical(schema.source)
    written = data.draw(records(name)).encode()
    fields = fields_of(name, written)
    assert fastavro.schemaless_reader(io.BytesIO(written[10:]), source, None) == fields
    target = io.BytesIO()
    fastavro.schemaless_writer(target, source, fields)
    assert schema.header + target.getvalue() == written


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data(), cuts=CUTS)
def test_blocks_may_be_cut_anywhere(name: str, data: st.DataObject, cuts: list[tuple[int, bool]]) -> None:
    schema = released.newest(name)
    fields = fields_of(name, data.draw(records(name)).encode())
    turns = iter(range(1 << 30))
    written = in_blocks(schema.source, fields, lambda: cuts[next(turns) % len(cuts)])
    assert fields_of(name, schema.header + written) == fields
    assert fastavro.schemaless_reader(io.BytesIO(written), physical(schema.source), None) == fields


@pytest.mark.parametrize("name", RECORDS)
@given(data=st.data())
def test_damaged_bytes_are_refused_or_are_another_record(name: str, data: st.DataObject) -> None:
    written = bytearray(data.draw(records(name)).encode())
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(10, len(written) - 1))
        written[place] = data.draw(st.integers(0, 255))
    cut = bytes(written[: data.draw(st.integers(10, len(written)))])
    try:
        record = RECORDS[name].decode(cut)
    except RecordError:
        return
    assert RECORDS[name].decode(record.encode()) == record or "nan" in repr(record)


@given(st.binary(max_size=64))
def test_no_item_is_made_of_nothing(data: bytes) -> None:
    """A count is believed only as far as the bytes left could hold it."""
    for schema in released.RELEASED.values():
        source = Input(schema.header + data, 10)
        try:
            found = schema.type.read(source)
        except RecordError:
            continue
        assert size_of(found) <= len(data)


def size_of(found: Any) -> int:
    """How many values there are, of which each takes a byte at least."""
    if isinstance(found, dict):
        return sum(map(size_of, found.values()))
    return sum(map(size_of, found)) if isinstance(found, list) else 1

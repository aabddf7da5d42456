"""Messages out of an Arrow column: the same events as out of a list."""

import nanoarrow
import pytest

from decoding import decoded, messages, own
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.payloads import Payloads
from tamis.codecs.reasons import Reason

VALUES = [b'{"n":0}', None, b"", b'{"n":3}', b'{"n":4}']


@pytest.mark.parametrize("kind", [nanoarrow.binary(), nanoarrow.large_binary()], ids=["32 bit", "64 bit"])
def test_a_column_of_binaries_is_read_in_place(kind: nanoarrow.Schema) -> None:
    column = nanoarrow.c_array(VALUES, kind)
    result = EventDecoder().decode(messages(column, offsets=range(5), timestamps=[0] * 5))
    assert [own(event) for event in result.batch] == [{"n": 0}, {"n": 3}, {"n": 4}]
    assert [(refusal.position, refusal.reason) for refusal in result.refusals] == [
        (1, Reason.NO_VALUE),
        (2, Reason.TRUNCATED),
    ]
    assert own(decoded(VALUES).batch[2]) == {"n": 4}


def test_a_part_of_a_column_is_read_from_where_it_begins() -> None:
    whole = nanoarrow.c_array([f'{{"n":{number}}}'.encode() for number in range(20)], nanoarrow.binary())
    part = whole[11:]
    result = EventDecoder().decode(messages(part, offsets=range(9), timestamps=[0] * 9))
    assert [event["n"] for event in result.batch] == list(range(11, 20))


def test_a_column_of_strings_is_one_of_binaries() -> None:
    keys = nanoarrow.c_array(["a", None, "é"], nanoarrow.string())
    result = EventDecoder().decode(messages([b"{}"] * 3, keys=keys))
    assert [event.get("$key") for event in result.batch] == ["a", None, "é"]


def test_an_empty_column_has_no_messages() -> None:
    assert len(Payloads(nanoarrow.c_array([], nanoarrow.binary()))) == 0


@pytest.mark.parametrize("kind", [nanoarrow.int32(), nanoarrow.binary_view(), nanoarrow.fixed_size_binary(4)])
def test_any_other_column_is_a_mistake(kind: nanoarrow.Schema) -> None:
    values = [1] if kind.type == nanoarrow.Type.INT32 else [b"abcd"]
    with pytest.raises(TypeError, match="cast it"):
        Payloads(nanoarrow.c_array(values, kind))

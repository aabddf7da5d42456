"""What the fuzz targets of decoders share: a message, its beginnings and its neighbours, with and without a vocabulary.

One input is some eighty messages for the decoder, since a call costs more than a message. What one of them gives must
not depend on those around it, nor on whether anyone asks about its attributes.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from decoding import NotDecodable, own, written_out
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.limits import DecodingLimits
from tamis.codecs.messages import EventFormat, Messages
from tamis.codecs.reasons import Reason, Refusal
from tamis.indexes import create

DECODER = EventDecoder()
NARROW = EventDecoder(limits=DecodingLimits(100, 3, 6, 3, 8, 10))
"""Limits that short messages reach."""
INDEX = create("scan")
INDEX.insert(0, 'a = 1 and `a.b` = "a" and $topic = "t"')
ASKED = ("a", "a.b", "$topic")
BEGINNINGS = 16
NEIGHBOURS = 64
"""Messages that differ in one bit."""
LIMITS = {
    *(Reason.MESSAGE_TOO_LONG, Reason.TOO_DEEP, Reason.TOO_MANY_ITEMS, Reason.TOO_MANY_ATTRIBUTES),
    *(Reason.STRING_TOO_LONG, Reason.NAME_TOO_LONG),
}
_NUMBERS = np.arange(BEGINNINGS + NEIGHBOURS + 3)

Verdict = dict[str, Any] | Refusal


def verdict(data: bytes, format: EventFormat) -> Verdict:
    """The event that a message is, or why it is none, once all ways to ask have said the same."""
    ends = range(len(data), -1, -1 - len(data) // BEGINNINGS)
    values = [*(data[:end] for end in ends), *neighbours(data), data]
    numbers = _NUMBERS[: len(values)]
    group = Messages("t", 0, numbers, numbers, values, format=format)
    result = DECODER.decode(group)
    asked = DECODER.decode(group, INDEX.vocabulary)
    assert asked.refusals == result.refusals
    assert asked.left_out == result.left_out
    assert len(result.refusals) + len(result) == len(values)
    assert all(refusal.byte <= len(values[refusal.position]) for refusal in result.refusals)
    if result.refusals and result.refusals[0].position == 0:
        refusal, last = result.refusals[0], result.refusals[-1]
        assert (last.position, last.reason, last.byte) == (len(values) - 1, refusal.reason, refusal.byte)
        return refusal
    whole = result.batch[0]
    assert written_out(own(whole)) == written_out(own(result.batch[-1]))
    assert written_out(asked.batch[0]) == written_out({name: whole[name] for name in ASKED if name in whole})
    narrow = NARROW.decode(group).refusals
    assert not narrow or narrow[0].position != 0 or narrow[0].reason in LIMITS
    return own(whole)


def neighbours(data: bytes) -> Iterator[bytes]:
    if data:
        for number in range(NEIGHBOURS):
            changed = bytearray(data)
            changed[number * len(data) // NEIGHBOURS] ^= 1 << number % 8
            yield bytes(changed)


def check_same(found: Verdict, reference: Callable[[], dict[str, Any]]) -> None:
    """That the reference, called only if the message was decoded, gives the same event."""
    if isinstance(found, Refusal):
        return
    try:
        expected = reference()
    except NotDecodable:
        raise AssertionError("the reference refuses it") from None
    assert written_out(found) == written_out(expected)

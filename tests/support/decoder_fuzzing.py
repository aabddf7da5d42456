"""What the fuzz targets of decoders share: one message, between two good ones, with and without a vocabulary."""

from typing import Any

from decoding import NotDecodable, messages, own, written_out
from tamis.codecs.event_decoder import EventDecoder
from tamis.codecs.limits import DecodingLimits
from tamis.codecs.messages import EventFormat
from tamis.codecs.reasons import Reason, Refusal
from tamis.indexes import create

DECODER = EventDecoder()
NARROW = EventDecoder(limits=DecodingLimits(100, 3, 6, 3, 8, 10))
"""Limits that short messages reach."""
INDEX = create("scan")
INDEX.insert(0, 'a = 1 and `a.b` = "a" and $topic = "t"')
ASKED = ("a", "a.b", "$topic")
GOOD = messages([b'{"good":true}'])

Verdict = dict[str, Any] | Refusal


def verdict(data: bytes, format: EventFormat) -> Verdict:
    """The event that a message is, or why it is none, once all ways to ask have said the same."""
    group = messages([data], format)
    result = DECODER.decode([GOOD, group, GOOD])
    events = [own(event) for event in result.batch]
    assert events[0] == events[-1] == {"good": True}
    asked = DECODER.decode(group, INDEX.vocabulary)
    assert asked.left_out == result.left_out
    if result.refusals:
        (refusal,) = result.refusals
        assert len(events) == 2
        assert refusal.position == 1
        assert 0 <= refusal.byte <= len(data)
        assert [(other.reason, other.byte) for other in asked.refusals] == [(refusal.reason, refusal.byte)]
        return refusal
    whole = result.batch[1]
    kept = {name: whole[name] for name in ASKED if name in whole}
    assert written_out(asked.batch[0]) == written_out(kept)
    narrow = NARROW.decode(group)
    assert not narrow.refusals or narrow.refusals[0].reason in _LIMITS
    return events[1]


_LIMITS = {
    *(Reason.MESSAGE_TOO_LONG, Reason.TOO_DEEP, Reason.TOO_MANY_ITEMS, Reason.TOO_MANY_ATTRIBUTES),
    *(Reason.STRING_TOO_LONG, Reason.NAME_TOO_LONG),
}


def check_same(found: Verdict, reference: Any) -> None:
    """That the reference, called only if the message was decoded, gives the same event."""
    if isinstance(found, Refusal):
        return
    try:
        expected = reference()
    except NotDecodable:
        raise AssertionError("the reference refuses it") from None
    assert written_out(found) == written_out(expected)

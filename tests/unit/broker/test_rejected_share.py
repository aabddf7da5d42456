import pytest

from tamis.broker.errors import InvalidError
from tamis.broker.rejected_share import WINDOW, RejectedShare
from tamis.codecs.reasons import Reason, Refusal


def refused(*positions: int) -> list[Refusal]:
    return [Refusal(position, Reason.TRUNCATED, 0) for position in positions]


def test_poison_now_and_then_stops_nothing() -> None:
    share = RejectedShare(0.5)
    for _ in range(100):
        share.remember(share.after(10, refused(0, 3, 5, 9)))


def test_more_than_its_share_of_the_last_thousand_stops() -> None:
    share = RejectedShare(0.5)
    share.remember(share.after(500, refused(*range(500))))
    with pytest.raises(InvalidError, match=r"501 of the last 501 events .*it ends too early"):
        share.after(1, refused(0))


def test_what_was_long_ago_does_not_count() -> None:
    share = RejectedShare(0.5)
    share.remember(share.after(400, refused(*range(400))))
    share.remember(share.after(WINDOW, []))
    share.remember(share.after(400, refused(*range(400))))


def test_what_was_aborted_and_comes_again_counts_once() -> None:
    share = RejectedShare(0.5)
    share.after(400, refused(*range(400)))
    share.after(400, refused(*range(400)))
    verdicts = share.after(400, refused(*range(400)))
    share.remember(verdicts)
    assert sum(verdicts) == 400


def test_a_share_of_one_never_stops() -> None:
    share = RejectedShare(1.0)
    for _ in range(3):
        share.remember(share.after(WINDOW, refused(*range(WINDOW))))

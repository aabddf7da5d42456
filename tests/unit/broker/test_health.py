"""A process is alive if it turns or waits, and ready if it has all it needs; each reason is told."""

import time
from collections.abc import Callable

import pytest

from tamis.broker.configuration import STALL_SECONDS, Settings
from tamis.broker.health import Health
from tamis.broker.health_facts import HealthFacts
from tamis.broker.metrics import Meters
from tamis.codecs.layout import Layout
from tamis.indexes.limits import Limits

LAYOUT = Layout(1, 1, 4, {"tamis.events": "id"}, Limits())


class Facts(HealthFacts):
    """What Kafka would say."""

    others = False

    def all_are_assigned(self) -> bool:
        return self.others

    def obstacles(self) -> list[str]:
        return ["a transaction is open"]


def ready() -> Meters:
    meters = Meters()
    meters.read()
    meters.joins(LAYOUT)
    meters.positions = {("tamis.events", 0): 3}
    return meters


def reasons(meters: Meters, *, others: bool = False, verbose: bool = False) -> list[str]:
    facts = Facts(Settings(), meters)
    facts.others = others
    return [
        check.told for check in Health(meters, facts, STALL_SECONDS).readiness(verbose=verbose) if not check.is_good
    ]


def test_one_that_has_it_all_is_ready() -> None:
    assert reasons(ready()) == []


def test_a_new_one_tells_how_far_it_is() -> None:
    meters = Meters()
    assert reasons(meters) == ["reading them", "it is in none"]
    meters.reads(25, 100)
    assert reasons(meters)[0] == "reading them: 25 of 100 records (25%)"
    meters.reads(0, 0)
    assert reasons(meters)[0] == "reading them"


@pytest.mark.parametrize(
    ("happens", "reason"),
    [
        (lambda meters: meters.waits("[3] at 5 of 9"), "[3] at 5 of 9"),
        (lambda meters: meters.left(), "it is in none"),
        (lambda meters: meters.fails(OSError("no route")), "starting again with new clients: no route"),
        (lambda meters: meters.positions.clear(), "joining, no partition was assigned yet"),
        (lambda meters: [meters.failed_to_commit("commit") for _ in range(3)], "the last 3 were aborted"),
    ],
)
def test_one_that_lacks_something_says_what(happens: Callable[[Meters], object], reason: str) -> None:
    meters = ready()
    happens(meters)
    assert reasons(meters) == [reason]


def test_an_abort_now_and_then_is_none_of_it() -> None:
    meters = ready()
    meters.failed_to_commit("commit")
    assert reasons(meters) == []


def test_one_that_waits_for_others_partitions_stands_by() -> None:
    meters = ready()
    meters.positions.clear()
    assert reasons(meters, others=True) == ["joining, no partition was assigned yet"]
    meters.joined_at -= 60
    assert reasons(meters, others=True) == []
    assert reasons(meters) == ["joining, no partition was assigned yet"]


def test_what_stands_in_the_way_is_asked_for_by_those_who_want_to_know() -> None:
    meters = ready()
    meters.waits("behind")
    assert reasons(meters) == ["behind"]
    assert reasons(meters, verbose=True) == ["behind", "a transaction is open"]
    meters.read()
    assert reasons(meters, verbose=True) == []


def test_one_whose_loop_stands_is_dead_and_one_that_says_that_it_waits_is_not() -> None:
    meters = ready()
    health = Health(meters, Facts(Settings(), meters), STALL_SECONDS)
    assert all(check.is_good for check in health.life())
    meters.turned_at = time.monotonic() - STALL_SECONDS - 1
    assert not any(check.is_good for check in health.life())
    assert not health.is_ready()
    meters.waits("for Kafka")
    assert all(check.is_good for check in health.life())

"""What the screen shows, at the sizes that terminals have."""

import io

import pytest
from rich.console import Console

from tamis.admin.demo.screen import Screen
from tamis.admin.demo.shop import AT_FIRST, GIVEN_UP, LATER
from tamis.admin.demo.stage import Work

SIZES = [(80, 24), (100, 40), (200, 60), (20, 5)]


def shown(screen: Screen, console: Console, height: int) -> list[str]:
    with console.capture() as capture:
        console.print(screen.render(), height=height)
    return capture.get().splitlines()


def made(width: int, height: int) -> tuple[Screen, Console]:
    console = Console(file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None)
    return Screen(console), console


@pytest.mark.parametrize(("width", "height"), SIZES)
def test_it_fits_whatever_happens(width: int, height: int) -> None:
    screen, console = made(width, height)
    for _ in range(2):
        lines = shown(screen, console, height)
        assert len(lines) == height
        assert all(len(line) <= width for line in lines)
        screen.say("Something happens, and it takes many words to say so. " * 5)
        for subscription in (*AT_FIRST, LATER):
            screen.subscribed(subscription)
        screen.unsubscribed(GIVEN_UP)
        for number in range(200):
            screen.offered(number, "a thing, 5 EUR, [red] eu " * 5)
            screen.notified("ann", number, "a thing", "phones")


def test_on_the_smallest_terminal_everyone_sees_wishes_whole_and_what_came_last() -> None:
    screen, console = made(80, 24)
    for subscription in (*AT_FIRST, LATER):
        screen.subscribed(subscription)
    screen.unsubscribed(GIVEN_UP)
    screen.work(Work.DEAD)
    screen.count(1200, 34, 7)
    screen.offered(17, "red apple phone")
    screen.notified("ann", 17, "red apple phone", "phones")
    text = "\n".join(shown(screen, console, 24))
    assert all(subscription.expression in text for subscription in (*AT_FIRST, LATER))
    assert f"taken back: {GIVEN_UP.expression}" in text
    assert "17 ann red apple phone" in text
    assert "17 red apple phone (phones)" in text
    assert "ann: 1 so far" in text
    assert "dead: kill -9" in text
    assert "offers 1,200" in text
    assert "waiting 7" in text


def test_the_story_is_kept_for_afterwards() -> None:
    screen, _ = made(80, 24)
    screen.say("one")
    screen.say("two")
    assert [text for _, text in screen.story] == ["one", "two"]

"""The demo on a terminal: what happens now, the offers, and for each person what they want and what they got."""

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.layout import Layout
from rich.live import Live
from rich.padding import Padding
from rich.panel import Panel
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from tamis.admin.demo.shop import PEOPLE
from tamis.admin.demo.stage import Work
from tamis.codecs.subscription import Subscription

_FRAMES_PER_SECOND = 8
_KEPT = 100
_HEADER_ROWS = 5
_WIDE_COLUMNS = 130
"""From this width on, there is room for two columns of people."""
_NEW_SECONDS = 3.0
"""For so long, what has changed stands out."""
_COLOURS = dict(zip(PEOPLE, ("cyan", "green", "magenta", "yellow", "blue"), strict=True))
_WORK = {Work.MATCHING: "bold green", Work.DEAD: "bold white on red", Work.COMING_BACK: "bold yellow"}


@dataclass
class _Wish:
    """A subscription as it is shown."""

    subscription: Subscription
    changed_at: float
    is_gone: bool = False


@dataclass
class _Person:
    wishes: list[_Wish] = field(default_factory=list)
    got: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=_KEPT))
    count: int = 0


class Screen:
    """A stage on the terminal's other screen; `story` is what was said, and when, for when it is gone."""

    def __init__(self, console: Console | None = None, *, colour: bool = True) -> None:
        self.story: list[tuple[float, str]] = []
        self._console = console or Console(stderr=True, no_color=None if colour else True, highlight=False)
        self._lock = threading.Lock()
        self._began = time.monotonic()
        self._now = ""
        self._work = Work.MATCHING
        self._counts = 0, 0, 0
        self._offers: deque[tuple[int, str]] = deque(maxlen=_KEPT)
        self._takers: dict[int, list[str]] = {}
        self._people = {name: _Person() for name in PEOPLE}
        self._live = Live(
            console=self._console, screen=True, refresh_per_second=_FRAMES_PER_SECOND, get_renderable=self.render
        )

    def __enter__(self) -> Self:
        self._live.start(refresh=True)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._live.stop()

    def say(self, text: str) -> None:
        with self._lock:
            self._now = text
            self.story.append((time.monotonic() - self._began, text))

    def work(self, work: Work) -> None:
        with self._lock:
            self._work = work

    def count(self, events: int, notifications: int, waiting: int) -> None:
        with self._lock:
            self._counts = events, notifications, waiting

    def subscribed(self, subscription: Subscription) -> None:
        with self._lock:
            self._people[subscription.subscriber].wishes.append(_Wish(subscription, time.monotonic()))

    def unsubscribed(self, subscription: Subscription) -> None:
        with self._lock:
            for wish in self._people[subscription.subscriber].wishes:
                if wish.subscription == subscription:
                    wish.is_gone, wish.changed_at = True, time.monotonic()

    def offered(self, number: int, text: str) -> None:
        with self._lock:
            self._offers.appendleft((number, text))

    def notified(self, subscriber: str, number: int, text: str, names: str) -> None:
        with self._lock:
            person = self._people[subscriber]
            person.got.appendleft((time.monotonic(), f"{number} {text} ({names})"))
            person.count += 1
            self._takers.setdefault(number, []).append(subscriber)

    def render(self) -> RenderableType:
        """All of it as it is now."""
        with self._lock:
            people = [_Block(self._person_lines(name), self._person_title(name), _COLOURS[name]) for name in PEOPLE]
            offers = _Block(list(self._offer_lines()), "offers, the newest first", "white")
            header = self._header()
        columns = 2 if self._console.width >= _WIDE_COLUMNS else 1
        body = Layout()
        body.split_row(Layout(_spaced(offers), ratio=2), *_columns(people, columns))
        whole = Layout()
        whole.split_column(Layout(header, size=_HEADER_ROWS + 1 - columns), body)
        return whole

    def _header(self) -> RenderableType:
        events, notifications, waiting = self._counts
        numbers = Table.grid(padding=(0, 3))
        numbers.add_row(
            Text.assemble("broker ", (f" {self._work} ", _WORK[self._work])),
            f"offers {events:,}",
            f"notifications {notifications:,}",
            Text(f"waiting {waiting:,}", style="bold yellow" if waiting > 1 else ""),
        )
        grid = Table.grid(expand=True)
        grid.add_row(Text(self._now, style="bold"))
        grid.add_row(numbers)
        seconds = f"{time.monotonic() - self._began:.0f} s"
        return Panel(grid, title="Tamis: a shop's offers, each to those who want it", subtitle=seconds)

    def _offer_lines(self) -> Iterator[Text]:
        for number, text in self._offers:
            line = Text(f"{number:>3} ", style="dim")
            takers = self._takers.get(number, ())
            for name in takers:
                line.append(name, style=f"not dim {_COLOURS[name]}")
                line.append(" ")
            line.append(text, style="not dim" if takers else "dim")
            yield line

    def _person_title(self, name: str) -> str:
        return f"{name}: {self._people[name].count} so far"

    def _person_lines(self, name: str) -> Sequence[Text]:
        person, now = self._people[name], time.monotonic()
        lines = [] if person.wishes else [Text("has not subscribed yet", style="dim italic")]
        for wish in person.wishes:
            is_new = now - wish.changed_at < _NEW_SECONDS
            style = "dim strike" if wish.is_gone else "reverse" if is_new else "bold"
            mark = "taken back: " if wish.is_gone else ""
            lines.append(Text(f"{mark}{wish.subscription.expression}", style=style))
        lines += [Text(f"  {text}", style="bold" if now - at < 1 else "") for at, text in person.got]
        return lines


class _Block:
    """A heading and lines below it, as many as there is room for, each cut where the room ends."""

    def __init__(self, lines: Sequence[Text], title: str, colour: str) -> None:
        self._lines = lines
        self._title = title
        self._colour = colour

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = options.height or len(self._lines) + 1
        yield Rule(Text(self._title, style=f"bold {self._colour}"), style=self._colour, align="left")
        for line in self._lines[: rows - 1]:
            line.truncate(options.max_width, overflow="ellipsis")
            yield line


def _columns(blocks: Sequence[_Block], count: int) -> Iterator[Layout]:
    """Blocks one below the other, in so many columns beside each other."""
    height = -(-len(blocks) // count)
    for start in range(0, len(blocks), height):
        column = Layout(ratio=3)
        column.split_column(*(Layout(_spaced(block)) for block in blocks[start : start + height]))
        yield column


def _spaced(block: _Block) -> Padding:
    return Padding(block, (0, 1, 0, 0))

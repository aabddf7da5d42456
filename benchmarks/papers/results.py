"""What was measured so far, so that a run that was interrupted goes on where it was."""

import json
from collections.abc import Collection
from pathlib import Path

from benchmarks.papers.points import Figures, Point

_FOLDER = Path(__file__).parents[2] / "build" / "benchmarks"


class Results:
    """Points with the figures of each engine, in a file that is appended to: of a point twice there the last counts."""

    def __init__(self, name: str) -> None:
        self.path = _FOLDER / f"{name}.jsonl"
        self._known: dict[str, dict[str, Figures]] = {}
        if self.path.exists():
            for line in self.path.read_text(encoding="utf-8").splitlines():
                kept = json.loads(line)
                self._known[kept["point"]] = kept["engines"]

    def forget(self) -> None:
        self.path.unlink(missing_ok=True)
        self._known.clear()

    def has(self, point: Point, engines: Collection[str]) -> bool:
        """Whether all of these engines were measured together: only then they can be compared."""
        return set(engines) <= set(self._known.get(point.key, {}))

    def keep(self, point: Point, engines: dict[str, Figures]) -> None:
        self._known[point.key] = engines
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"point": point.key, "engines": engines}) + "\n")

    def of(self, point: Point) -> dict[str, Figures]:
        """By engine; empty if the point was not measured."""
        return self._known.get(point.key, {})

"""What a benchmark measured: printed as tables, and kept as JSON."""

import json
import platform
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

_FOLDER = Path(__file__).parents[1] / "build" / "benchmarks"


@dataclass
class Report:
    """Rows under headings; `keep` writes them to `build/benchmarks/<name>.json`."""

    name: str
    tables: dict[str, list[dict[str, str | float]]] = field(default_factory=dict)

    def row(self, table: str, **cells: str | float) -> None:
        self.tables.setdefault(table, []).append(cells)

    def show(self) -> None:
        for title, lines in self.markdown():
            print(f"\n{title}\n\n{lines}")

    def markdown(self) -> Iterator[tuple[str, str]]:
        """Each table's title, and its lines."""
        for title, rows in self.tables.items():
            lines = [list(rows[0]), ["---"] * len(rows[0]), *([_shown(cell) for cell in row.values()] for row in rows)]
            yield title, "\n".join("| " + " | ".join(line) + " |" for line in lines)

    def keep(self) -> Path:
        _FOLDER.mkdir(parents=True, exist_ok=True)
        path = _FOLDER / f"{self.name}.json"
        machine = {"machine": platform.machine(), "python": platform.python_version()}
        path.write_text(json.dumps({"benchmark": self.name, **machine, "tables": self.tables}, indent=1))
        return path


_ROUNDED_FROM = 100


def _shown(cell: str | float) -> str:
    if isinstance(cell, str):
        return cell
    return f"{cell:,.0f}" if abs(cell) >= _ROUNDED_FROM or float(cell).is_integer() else f"{cell:.3g}"

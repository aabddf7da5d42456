import codecs
import importlib
import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest

import tamis
import tamis.codecs

ROOT = Path(__file__).parents[2]
LAYERS = ["indexes", "codecs", "broker", "admin", "spark_sink"]


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_is_importable_under_tamis(layer: str) -> None:
    assert importlib.import_module(f"tamis.{layer}").__name__ == f"tamis.{layer}"


@pytest.mark.parametrize("layer", [layer for layer in LAYERS if layer != "codecs"])
def test_a_layer_is_not_importable_by_its_folder_name(layer: str) -> None:
    assert importlib.util.find_spec(layer) is None


def test_the_standard_library_keeps_its_codecs() -> None:
    assert tamis.codecs is not codecs


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_reaches_the_package_by_one_relative_link(layer: str) -> None:
    link = ROOT / "src" / "tamis" / layer
    assert link.readlink() == Path("..", "..", layer)
    assert link.samefile(ROOT / layer)


def test_every_compiled_module_comes_with_its_declarations_and_its_stub() -> None:
    sources = [path for layer in LAYERS for path in (ROOT / layer).rglob("*.pyx")]
    assert sources
    for source in sources:
        assert source.with_suffix(".pxd").exists(), source
        assert source.with_suffix(".pyi").exists(), source
        module = f"tamis.{source.relative_to(ROOT).with_suffix('').as_posix().replace('/', '.')}"
        assert Path(str(importlib.import_module(module).__file__)).suffix == ".so", module


def test_every_compiled_module_is_listed_for_the_build() -> None:
    listed = (ROOT / "CMakeLists.txt").read_text()
    for layer in LAYERS:
        for source in (ROOT / layer).rglob("*.pyx"):
            assert f"cython_module({source.relative_to(ROOT).with_suffix('').as_posix()})" in listed


def test_a_source_tree_that_was_not_built_says_so() -> None:
    script = f"import sys; sys.path.insert(0, {str(ROOT / 'src')!r}); import tamis"
    run = subprocess.run([sys.executable, "-I", "-S", "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 1
    assert "compiled modules are missing" in run.stderr
    assert "make" in run.stderr

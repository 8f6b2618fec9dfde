"""Data flows one way: a layer knows only earlier ones."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import rlviz

PACKAGE = Path(rlviz.__file__).parent
_HEAVY = {"bokeh", "ipywidgets", "anywidget", "matplotlib", "pandas", "pyarrow", "IPython"}
LAYERS = ["reports", "run", "levels", "view"]
EARLIER = {layer: set(LAYERS[:place]) for place, layer in enumerate(LAYERS)} | {"demo": set()}


def imported(path: Path) -> set[str]:
    """Every module that a file imports, wherever in it; what only types need counts too."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
    return found


@pytest.mark.parametrize("layer", EARLIER)
def test_a_layer_imports_no_later_one(layer: str) -> None:
    forbidden = (set(LAYERS) | {"demo"}) - EARLIER[layer] - {layer}
    for path in (PACKAGE / layer).rglob("*.py"):
        for module in imported(path):
            for other in forbidden:
                assert not f"{module}.".startswith(f"rlviz.{other}."), f"{path.name}: {module}"


@pytest.mark.parametrize("layer", ["reports", "run", "levels"])
def test_reading_needs_neither_bokeh_nor_widgets(layer: str) -> None:
    for path in (PACKAGE / layer).rglob("*.py"):
        heads = {module.partition(".")[0] for module in imported(path)}
        assert not heads & {"bokeh", "ipywidgets", "anywidget", "matplotlib", "IPython"}


@pytest.mark.parametrize(
    ("statement", "unwanted"),
    [
        ("import rlviz", _HEAVY | {"polars", "numpy", "tqdm", "typer"}),
        ("from rlviz import load", _HEAVY),
        ("import rlviz.cli", _HEAVY | {"polars", "numpy"}),
    ],
)
def test_an_import_takes_no_longer_than_it_must(statement: str, unwanted: set[str]) -> None:
    told = subprocess.run(
        [sys.executable, "-c", f"{statement}; import sys; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert not set(told.stdout.split()) & unwanted

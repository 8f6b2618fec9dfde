"""The scene of a small simulated run is the one that was looked at."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import rlviz
from rlviz.demo import write
from rlviz.levels.codec import pack
from rlviz.view.compose import compose

if TYPE_CHECKING:
    import polars as pl

_SNAPSHOT = Path(__file__).parent / "snapshots" / "scene.json"
_MANY = 12


def _told(column: pl.DataFrame) -> Any:
    values = column.to_series().to_numpy()
    if len(values) <= _MANY:
        return [_rounded(value) for value in values.tolist()]
    numbers = values.astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    return {
        "values": len(values),
        "unknown": len(numbers) - len(known),
        "least": _rounded(known.min()),
        "most": _rounded(known.max()),
        "sum": _rounded(known.sum()),
    }


def _rounded(value: Any) -> Any:
    if not isinstance(value, float):
        return value
    return None if np.isnan(value) else float(f"{value:.7g}")


def _plain(node: Any, frames: dict[str, pl.DataFrame]) -> Any:
    if isinstance(node, dict):
        return {key: _plain(value, frames) for key, value in node.items()}
    if isinstance(node, list) and node and node[0] == "array":
        return _told(frames[node[1]])
    if isinstance(node, list):
        return [_plain(value, frames) for value in node]
    return _rounded(node)


def test_the_scene_is_the_one_that_was_looked_at(tmp_path: Path) -> None:
    """After a change that is wanted: ``UPDATE_SNAPSHOTS=1 pytest``, and look at the difference."""
    write(tmp_path / "run", steps=2, kernels_per_gpu=300, seed=3)
    scene = compose(rlviz.load(tmp_path / "run", cache=False))
    now = json.dumps(_plain(*pack(scene)), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("UPDATE_SNAPSHOTS"):
        _SNAPSHOT.write_text(now, "utf-8")
    assert now == _SNAPSHOT.read_text("utf-8")

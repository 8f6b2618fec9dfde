"""What is written where: one seed is one run, and what is not ours is left alone."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING, Any

import pytest

import rlviz.demo
from rlviz.errors import RlvizError

if TYPE_CHECKING:
    from pathlib import Path

SMALL: dict[str, Any] = {"steps": 2, "kernels_per_gpu": 400, "policy_gpus": 2, "generation_gpus": 2}


def contents(folder: Path) -> dict[str, list[str]]:
    found = {}
    for path in sorted(folder.rglob("*.sqlite")):
        with sqlite3.connect(path) as database:
            found[str(path.relative_to(folder))] = list(database.iterdump())
    return found


def test_one_seed_is_one_run(tmp_path: Path) -> None:
    for name, seed in (("a", 7), ("b", 7), ("c", 8)):
        rlviz.demo.write(tmp_path / name, seed=seed, **SMALL)
    first, second, other = (contents(tmp_path / name) for name in "abc")
    assert first == second
    assert (tmp_path / "a/truth.json").read_text() == (tmp_path / "b/truth.json").read_text()
    assert first != other


def test_a_run_replaces_the_one_before_it_and_leaves_nothing_of_it(tmp_path: Path) -> None:
    rlviz.demo.write(tmp_path, **SMALL)
    own = tmp_path / "notes.txt"
    own.write_text("mine")
    rlviz.demo.write(tmp_path, **(SMALL | {"steps": 1}))
    truth = json.loads((tmp_path / "truth.json").read_text())
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.sqlite")} == set(
        truth["reports"]
    )
    assert own.read_text() == "mine"


@pytest.mark.parametrize("name", ["node-1/dtensor_policy_worker_v2_3:5_4711.sqlite", "truth.json"])
def test_a_file_of_somebody_else_is_left_alone(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text("{}")
    with pytest.raises(RlvizError, match="left as it is"):
        rlviz.demo.write(tmp_path, **SMALL)
    assert [one for one in tmp_path.rglob("*") if one.is_file()] == [path]
    assert path.read_text() == "{}"


def test_a_link_does_not_lead_out_of_the_folder(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    inside.mkdir()
    outside.mkdir()
    (inside / "node-1").symlink_to(outside)
    with pytest.raises(RlvizError, match="leads out"):
        rlviz.demo.write(inside, **SMALL)
    assert not list(outside.iterdir())


@pytest.mark.parametrize(
    "options",
    [
        {"framework": "skyrl"},
        {"steps": 0},
        {"kernels_per_gpu": 10},
        {"missing_rank": 9},
        {"first_step": 3, "framework": "rlinf"},
        {"clock_skew_ms": {"elsewhere": 1.0}},
        {"captures": 9},
        {"nsys": "2020.1"},
        {"missing_rank": 0, "colocated": True},
    ],
    ids=str,
)
def test_options_that_make_no_run_are_refused(tmp_path: Path, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        rlviz.demo.write(tmp_path / "run", **options)
    assert not (tmp_path / "run").exists()

"""Rows that other processes work out are those that this one would."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import rlviz
from rlviz.demo import write
from rlviz.levels import elsewhere, memory
from rlviz.levels.pyramid import COLUMNS
from rlviz.run.activity import Activity

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.made import MadeRow


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run")
    # Two workers a GPU, two reports a worker: rows of several lanes and parts.
    write(made, steps=2, kernels_per_gpu=3_000, colocated=True, captures=2)
    return made


@pytest.fixture
def _processes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(elsewhere, "_WORTH_PROCESSES", 1)
    monkeypatch.setattr(memory, "_WORTH_KEEPING", 1)


def same(one: MadeRow, other: MadeRow) -> None:
    for name in ("code", "reach_ns"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    assert one.codes == other.codes
    assert one.lanes.keys() == other.lanes.keys()
    for lane, own in one.lanes.items():
        for field in fields(Activity):
            for a, b in zip(
                getattr(own, field.name), getattr(other.lanes[lane], field.name), strict=True
            ):
                assert np.array_equal(a, b), field.name
    for level, its in zip(one.pyramid.levels, other.pyramid.levels, strict=True):
        assert (level.width_ns, level.first) == (its.width_ns, its.first)
        for name in COLUMNS:
            assert np.array_equal(getattr(level, name), getattr(its, name)), name


def assert_right(run: Any, folder: Path) -> None:
    here = rlviz.load(folder, cache=False)
    assert run.tracks.keys() == here.tracks.keys()
    for row, track in run.tracks.items():
        same(track.made, here.tracks[row].made)
    assert run.summary().equals(here.summary())


@pytest.mark.usefixtures("_processes")
@pytest.mark.parametrize("anonymize", [False, True])
def test_rows_of_other_processes_are_right(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, anonymize: bool
) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlviz.levels.tracks.make_row", None)  # none is made in this one
        run = rlviz.load(folder, cache=tmp_path, anonymize=anonymize)
        _ = run.tracks
    assert not list(tmp_path.glob("*-plan"))
    assert_right(run, folder)
    # What is there is not made again.
    monkeypatch.setattr("rlviz.pool.Processes.make_rows", None)
    assert_right(rlviz.load(folder, cache=tmp_path, anonymize=anonymize), folder)


@pytest.mark.usefixtures("_processes")
def test_a_row_that_a_process_gives_up_is_made_here(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hook").mkdir()
    (tmp_path / "hook" / "sitecustomize.py").write_text(
        "import os, signal, rlviz.levels.elsewhere as elsewhere\n"
        "make = elsewhere.make_planned_row\n"
        "def dying(store, memory, row):\n"
        "    if row == 0: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    if row == 1: raise ValueError\n"
        "    make(store, memory, row)\n"
        "elsewhere.make_planned_row = dying\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "hook"))
    run = rlviz.load(folder, cache=tmp_path / "store")
    made = {path.name.split("-", 1)[1] for path in (tmp_path / "store").glob("*-row-*")}
    assert made
    assert not {"row-0", "row-1"} & made
    assert_right(run, folder)

"""A run that is opened again is the run that it was, and nothing is worked out anew."""

from __future__ import annotations

import warnings
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import rlviz
from rlviz.demo import write
from rlviz.levels import memory
from rlviz.levels.codec import pack, unpack
from rlviz.levels.pyramid import COLUMNS
from rlviz.levels.store import Store
from rlviz.run.iteration import Iteration, Refit
from rlviz.view.compose import compose

if TYPE_CHECKING:
    from pathlib import Path


def same(one: Any, other: Any) -> None:
    """Compare values of any kind, arrays and frames in them included."""
    if isinstance(one, np.ndarray):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    elif isinstance(one, pl.DataFrame):
        assert_frame_equal(one, other)
    elif is_dataclass(one):
        assert type(one) is type(other)
        for field in fields(one):
            same(getattr(one, field.name), getattr(other, field.name))
    elif isinstance(one, tuple | list):
        assert type(one) is type(other)
        assert len(one) == len(other)
        for mine, its in zip(one, other, strict=True):
            same(mine, its)
    elif isinstance(one, dict):
        assert set(one) == set(other)
        for key, mine in one.items():
            same(mine, other[key])
    else:
        assert one == other


def again(value: object, *classes: type) -> Any:
    json, frames = pack(value)
    return unpack(json, frames.__getitem__, classes)


plain = st.none() | st.booleans() | st.integers(-(2**62), 2**62) | st.text(max_size=5)
values = st.recursive(
    plain,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.lists(inner, max_size=3).map(tuple)
        | st.dictionaries(st.integers(0, 9) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(values)
def test_plain_values_come_back_as_they_were(value: object) -> None:
    same(value, again(value))


def test_classes_arrays_and_frames_come_back_as_they_were() -> None:
    iteration = Iteration(
        3, 5, 9, ("refit", "none"), complete=True, segment={2: (1, 4)}, refit=Refit(None, (1, 2))
    )
    value = {
        "iteration": iteration,
        "codes": np.array([[1, 2], [3, 4]], np.uint8),
        "none": np.empty(0, np.int64),
        "flags": np.array([True, False]),
        "frame": pl.DataFrame({"a": [1, None], "b": ["x", "y"]}),
        "lanes": frozenset({1, 2}),
    }
    same(value, again(value, Iteration, Refit))


def test_only_known_classes_are_made() -> None:
    json, frames = pack(Refit(None, (1, 2)))
    with pytest.raises(ValueError, match="object"):
        unpack(json, frames.__getitem__, (Iteration,))
    with pytest.raises(TypeError, match="cannot be kept"):
        pack(lambda: 0)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("run")
    write(made, steps=2, kernels_per_gpu=2_000)
    return made


def opened(folder: Path, store: Path, **asked: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "_WORTH_KEEPING", 1)
        return rlviz.load(folder, cache=store, **asked)


def test_a_run_that_is_opened_again_is_the_same(folder: Path, tmp_path: Path) -> None:
    first, fresh = opened(folder, tmp_path), rlviz.load(folder, cache=False)
    made = compose(first)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("rlviz.view.compose._composed", None)
        patch.setattr("rlviz.levels.tracks.make_row", None)
        patch.setattr("rlviz.run.assemble.align", None)
        patch.setattr("rlviz.run.assemble.tell_story", None)
        patch.setattr("rlviz.run.events.Events._annotations", None)
        second = opened(folder, tmp_path)
        scene = compose(second)
        tracks = second.tracks
    same(scene, made)
    same(scene, compose(fresh))
    for name in ("summary", "ranges", "marks", "phases", "gaps", "busy", "kernels", "top_kernels"):
        assert_frame_equal(getattr(second, name)(), getattr(fresh, name)())
    assert_frame_equal(second.findings, fresh.findings)
    assert_frame_equal(second.diagnostics, fresh.diagnostics)
    assert second.events.names.to_list() == fresh.events.names.to_list()
    for row, track in fresh.tracks.items():
        for column in ("start_ns", "end_ns", "name", "code", "busy"):
            same(getattr(tracks[row], column), getattr(track, column))
        for level, its in zip(track.pyramid.levels, tracks[row].pyramid.levels, strict=True):
            for column in COLUMNS:
                same(getattr(its, column), getattr(level, column))


@pytest.mark.parametrize(
    "asked",
    [
        {"offsets": {"policy_worker_0": 1.0}},
        {"iteration_marker": "no such range"},
        {"rules": {"phase": [{"phase": "reward", "ranges": ["policy_worker/train*"]}]}},
        {"anonymize": True},
    ],
)
def test_what_is_asked_otherwise_is_worked_out_otherwise(
    folder: Path, tmp_path: Path, asked: dict[str, Any]
) -> None:
    compose(opened(folder, tmp_path))
    if "offsets" in asked:
        asked = {"offsets": {opened(folder, tmp_path).reports["report"][0]: 1.0}}
    same(compose(opened(folder, tmp_path, **asked)), compose(rlviz.load(folder, **asked)))


def test_a_memory_that_cannot_be_understood_is_told_and_made_again(
    folder: Path, tmp_path: Path
) -> None:
    whole = compose(opened(folder, tmp_path))
    store = Store(tmp_path)
    kept = [path.name for path in tmp_path.iterdir() if "-" in path.name]
    held = {name.split("-", 1)[1] for name in kept}
    assert held > {"clock", "ranges", "story", "row-0", "row-1", "scene"}
    for name in kept:
        entry = store.get(name)
        assert entry is not None
        store._remove(entry.folder)
        store.put(name, {}, {"value": ["object", "Path", {}]})
    with pytest.warns(RuntimeWarning, match="damaged") as told:
        same(compose(opened(folder, tmp_path)), whole)
    names = [str(one.message).split()[-1].rstrip(".") for one in told]
    assert len(names) == len(set(names)) > 4
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same(compose(opened(folder, tmp_path)), whole)


@pytest.mark.parametrize("harm", ["cut", "remove"])
def test_a_damaged_memory_is_told_and_made_again(folder: Path, tmp_path: Path, harm: str) -> None:
    compose(opened(folder, tmp_path))
    whole = compose(rlviz.load(folder, cache=False))  # that one maps what is damaged
    (file,) = tmp_path.glob("*-scene/numbers.bin")
    if harm == "cut":
        file.write_bytes(file.read_bytes()[:-1])
    else:
        file.unlink()
    with pytest.warns(RuntimeWarning, match="damaged") as told:
        same(compose(opened(folder, tmp_path)), whole)
    assert len(told) == 1
    assert file.exists()

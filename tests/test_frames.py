"""Frames as Parquet files: the same numbers, what they mean, and never half of them."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl
import pytest
from polars.testing import assert_frame_equal

import rlviz
from rlviz.demo import write
from rlviz.errors import RlvizError, UnreadableReport
from rlviz.run import frames
from rlviz.run.columns import COLUMNS
from rlviz.run.frames import FRAMES
from tests.exports import SECRET, Export

if TYPE_CHECKING:
    from pathlib import Path

    from rlviz.levels.query import ZoomableRun


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZoomableRun:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=2, policy_gpus=2, generation_gpus=2, steps=2, kernels_per_gpu=600)
    return rlviz.load(folder)


@pytest.fixture(scope="module")
def folder(run: ZoomableRun, tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("made") / "frames"
    assert run.to_parquet(made) == [made / f"{frame}.parquet" for frame in FRAMES]
    return made


def test_every_frame_reads_back_as_it_is(run: ZoomableRun, folder: Path) -> None:
    assert {path.stem for path in folder.iterdir()} == set(FRAMES)
    for frame in FRAMES:
        found = pl.read_parquet(folder / f"{frame}.parquet")
        if frame == "summary_by_gpu":
            expected = run.summary(by="gpu")
        else:
            own = getattr(run, frame)
            expected = own() if callable(own) else own
        if frame == "reports":
            expected = expected.drop("path")
        assert_frame_equal(found, expected, check_row_order=False)


def test_columns_are_those_that_are_documented_and_say_their_unit(
    run: ZoomableRun, folder: Path
) -> None:
    for frame in FRAMES:
        path = folder / f"{frame}.parquet"
        about = json.loads(pl.read_parquet_metadata(path)["rlviz"])
        assert about["frame"] == frame
        assert about["simulated"] is True
        assert about["start_utc_ns"] == run.start_utc_ns
        expected = {n: c for n, c in COLUMNS[frame].items() if (frame, n) != ("reports", "path")}
        assert list(pl.read_parquet_schema(path)) == list(expected) == list(about["columns"])
        for name, column in expected.items():
            assert about["columns"][name] == {"unit": column.unit, "meaning": column.meaning}


def test_unknown_numbers_stay_null(tmp_path: Path) -> None:
    with Export(tmp_path / "reports" / "policy_worker_1.sqlite") as export:
        export.push_pop(0, 100, "policy_worker/train")
    rlviz.load(tmp_path / "reports").to_parquet(tmp_path / "frames")
    found = pl.read_parquet(tmp_path / "frames" / "reports.parquet")
    assert found["kernels"].to_list() == [None]
    assert len(pl.read_parquet(tmp_path / "frames" / "kernels.parquet")) == 0


def test_an_earlier_export_is_replaced(run: ZoomableRun, folder: Path, tmp_path: Path) -> None:
    made = tmp_path / "frames"
    made.mkdir()
    (made / "kernels.parquet").write_text("an earlier one")
    run.to_parquet(made)
    assert len(pl.read_parquet(made / "kernels.parquet")) == len(run.kernels())
    assert [path.name for path in tmp_path.iterdir()] == ["frames"]
    for frame in FRAMES:
        name = f"{frame}.parquet"
        assert (made / name).read_bytes() == (folder / name).read_bytes()


def test_a_folder_of_somebody_else_is_left_alone(run: ZoomableRun, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "mine")
    for name in ("mine", "file", "link", "no/such/folder"):
        with pytest.raises(RlvizError):
            run.to_parquet(tmp_path / name)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "link", "mine"]
    assert [path.name for path in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_a_report_that_is_gone_leaves_what_was_there(tmp_path: Path) -> None:
    write(tmp_path / "run", hosts=1, policy_gpus=1, generation_gpus=1, steps=1, kernels_per_gpu=200)
    run = rlviz.load(tmp_path / "run")
    run.to_parquet(tmp_path / "frames")
    before = {path.name: path.read_bytes() for path in (tmp_path / "frames").iterdir()}
    max((tmp_path / "run").rglob("*.sqlite")).unlink()
    with pytest.raises(UnreadableReport):
        run.to_parquet(tmp_path / "frames")
    after = {path.name: path.read_bytes() for path in (tmp_path / "frames").iterdir()}
    assert after == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["frames", "run"]


def test_nothing_of_the_machine_or_its_environment_is_in_them(tmp_path: Path) -> None:
    with Export(tmp_path / "reports" / "policy_worker_1.sqlite") as export:
        export.gpu("a-uuid", "0000:19:00.0")
        export.kernel(0, 10)
    for path in rlviz.load(tmp_path / "reports").to_parquet(tmp_path / "frames"):
        frame = pl.read_parquet(path)
        held = path.read_bytes() + frame.write_json().encode()
        assert SECRET.encode() not in held
        assert str(tmp_path).encode() not in held


def test_long_names_are_written_in_groups_of_few_rows(tmp_path: Path) -> None:
    events, size = 300, 1_000_000
    with Export(tmp_path / "reports" / "policy_worker_1.sqlite") as export:
        for number in range(events):
            export.push_pop(number * 10, number * 10 + 5, f"{number % 2}" * size)
            export.kernel(number * 10, number * 10 + 5, f"{number % 2}" * size)
    run = rlviz.load(tmp_path / "reports")
    run.to_parquet(tmp_path / "frames")
    for frame, expected in (("ranges", run.ranges()), ("kernels", run.kernels())):
        found = pl.read_parquet(tmp_path / "frames" / f"{frame}.parquet")
        assert_frame_equal(found, expected)
        # As one group they would be spelled out all at once. Some polars make groups of like size.
        assert events * size / found.n_chunks() <= 2 * frames._TEXT_A_GROUP

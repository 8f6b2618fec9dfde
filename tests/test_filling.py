"""A chart of phases comes first where reading takes long; it fills in, and is whole at the end."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any

import pytest
from polars.testing import assert_frame_equal

import rlviz
from rlviz import filling
from rlviz.errors import NoReports
from rlviz.levels.store import Store
from rlviz.loading import outcomes_of, waiting_bytes
from rlviz.reports.find import find
from rlviz.view import cells
from rlviz.view import timeline as module
from tests.ranks import simulated
from tests.small_reports import told, write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rlviz.view.scene import Scene
    from rlviz.view.timeline import Timeline


@pytest.fixture
def shown(monkeypatch: pytest.MonkeyPatch) -> list[Scene]:
    """What a notebook is shown, one scene after the other; every report is worth a picture."""
    scenes: list[Scene] = []
    renew = module.Timeline._renew

    def noted(self: Timeline, *given: Any) -> None:
        renew(self, *given)
        scenes.append(self.scene)

    monkeypatch.setattr(module.Timeline, "_renew", noted)
    monkeypatch.setattr(cells, "running_cell", lambda: 1)
    for name in ("_display", "_display_chart", "_display_kept"):
        monkeypatch.setattr(module.Timeline, name, lambda _: None)
    monkeypatch.setattr(filling, "_WORTH_FILLING", 0)
    monkeypatch.setattr(filling, "_EVERY_S", 0.0)
    monkeypatch.setattr(filling, "_SHARE", 1e9)
    return scenes


def kinds(scene: Scene) -> set[str]:
    return {shade.kind for shade in scene.shades}


def test_phases_come_first_and_gpu_rows_as_reports_arrive(shown: list[Scene]) -> None:
    whole = simulated()
    timeline = rlviz.show(whole.folder, cache=False)
    first, *middle, last = shown
    assert first.subtitle == "reading GPU rows: 0 of 8 reports"
    assert len(first.bars.left) == 0
    assert len(first.overlays.left) > 0
    assert first.iterations
    assert [scene.subtitle for scene in middle] == [
        f"reading GPU rows: {count} of 8 reports" for count in range(1, 8)
    ]
    waiting = [len({s.row for s in scene.shades if s.kind == "reading"}) for scene in shown]
    assert waiting == [8, 7, 6, 5, 4, 3, 2, 1, 0]
    for scene in shown[:-1]:
        assert (scene.remarks, scene.notes, scene.trust, scene.numbers) == ((), (), None, None)
        assert [row.label for row in scene.rows] == [row.label for row in last.rows]
    assert timeline.scene is last
    assert_frame_equal(timeline.run.diagnostics, whole.run.diagnostics)
    assert_frame_equal(timeline.run.summary(), whole.run.summary())


def test_the_clock_of_the_first_picture_is_that_of_the_last(
    tmp_path: Path, shown: list[Scene]
) -> None:
    # A controller, which has no GPU rows, starts long before the others.
    write(tmp_path / "policy_2.sqlite", pid=2, utc_ns=10**18 + 90 * 10**9)
    path = write(tmp_path / "controller_1.sqlite", pid=1, utc_ns=10**18)
    with closing(sqlite3.connect(path)) as database:
        database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_KERNEL")
        database.commit()
    rlviz.show(tmp_path, cache=False)
    assert len({scene.run_start_utc_ns for scene in shown}) == 1
    assert kinds(shown[0]) >= {"reading", "no_gpu_data"}


def test_what_is_small_or_kept_is_shown_once(
    tmp_path: Path, shown: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(filling, "_WORTH_FILLING", 60 << 20)
    write(tmp_path / "reports" / "policy_1.sqlite", pid=1)
    rlviz.show(tmp_path / "reports", cache=tmp_path / "store")
    assert shown == []
    found, _ = find(tmp_path / "reports")
    assert waiting_bytes(found, Store(tmp_path / "store")) == 0
    assert waiting_bytes(found, None) == found[0].path.stat().st_size


def test_an_interrupt_leaves_a_chart_that_says_what_came(
    tmp_path: Path, shown: list[Scene], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = simulated()

    def interrupted(*given: Any) -> Iterator[Any]:
        for place, outcome in enumerate(outcomes_of(*given)):
            if place == 2:
                raise KeyboardInterrupt
            yield outcome

    monkeypatch.setattr(filling, "outcomes_of", interrupted)
    with pytest.raises(KeyboardInterrupt):
        rlviz.show(whole.folder, cache=tmp_path / "store")
    assert shown[-1].subtitle == "stopped reading GPU rows: 2 of 8 reports"
    assert "reading" not in kinds(shown[-1])
    assert "no_gpu_data" in kinds(shown[-1])
    run = rlviz.load(whole.folder, cache=tmp_path / "store")
    assert_frame_equal(run.diagnostics, whole.run.diagnostics)


def test_a_report_that_cannot_be_read_is_told_at_the_end(
    tmp_path: Path, shown: list[Scene]
) -> None:
    write(tmp_path / "policy_1.sqlite", pid=1)
    (tmp_path / "torn.sqlite").write_bytes(b"no database")
    timeline = rlviz.show(tmp_path, cache=False)
    assert shown[0].subtitle == "reading GPU rows: 1 of 2 reports"
    assert told(timeline.run, "not-an-export")
    (tmp_path / "policy_1.sqlite").unlink()
    with pytest.raises(NoReports):
        rlviz.show(tmp_path, cache=False)


def test_the_first_view_shows_the_steps_asked_for(shown: list[Scene]) -> None:
    whole = simulated()
    first = rlviz.Timeline(rlviz.load(whole.folder, cache=False))
    windows = {number: (start, end) for number, start, end, _ in first.scene.iterations}
    timeline = rlviz.show(whole.folder, cache=False, steps=4)
    assert len(shown) > 1
    assert timeline.window == pytest.approx(windows[4], abs=0.5)
    both = rlviz.show(whole.folder, cache=False, steps=(3, 4))
    assert both.window == pytest.approx(first.window)

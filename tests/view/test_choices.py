"""What a reader can choose, and what colours then mean."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pytest

import rlviz
from rlviz.demo import write
from rlviz.levels.groups import KINDS
from rlviz.levels.tally import NOTHING
from rlviz.reports.gpu_rows import GRAPH, KERNEL
from rlviz.run.phases import ACTIVITY
from rlviz.view.activity import draw_activity
from rlviz.view.choices import coloring, domains, facet_of, legend, roles
from rlviz.view.compose import compose
from rlviz.view.palette import COLORS, KERNELS, OTHER_KERNELS, color_code
from rlviz.view.payload import payload
from tests.view.scenes import NAMES, empty, hostile, scene

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from rlviz.levels.query import ZoomableRun

# Machado, Oliveira and Fernandes (2009), severity 1; they act on linear RGB.
SIGHT = {
    "normal": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
}


def lab(color: str, sight: NDArray[np.float64]) -> NDArray[np.float64]:
    """Give a colour as CIELAB, as an eye sees it."""
    part = np.array([int(color[i : i + 2], 16) for i in (1, 3, 5)]) / 255
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    to_xyz = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = to_xyz @ np.clip(sight @ linear, 0, 1) / np.array([0.9505, 1.0, 1.089])
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("sight", SIGHT)
def test_kernels_are_told_apart_by_every_eye(sight: str) -> None:
    seen = [lab(color, SIGHT[sight]) for color in (*KERNELS, OTHER_KERNELS)]
    assert min(np.linalg.norm(a - b) for a, b in combinations(seen, 2)) > 25


def test_rows_are_chosen_by_role_in_their_order() -> None:
    assert roles(scene(8)) == ["generation", "policy"]
    assert roles(empty()) == []


def test_domains_say_which_are_shown_at_first() -> None:
    found = [(NAMES[code], shown) for code, shown in domains(scene(4))]
    assert found == [("NVTX default domain", True), ("NCCL", False)]


def test_one_domain_that_is_shown_is_no_choice() -> None:
    drawn = scene(4)
    overlays = drawn.overlays
    only = replace(overlays, domain=np.full_like(overlays.domain, 8))
    assert domains(replace(drawn, overlays=only)) == []


def test_the_legend_by_kernel_names_the_first_and_sums_up_the_others() -> None:
    by_kernel = coloring(scene(8, kernels=(0, 5)))["kernel"]
    told = [entry for entry in by_kernel["legend"] if entry["kind"] == "color"]
    assert [entry.get("name") for entry in told] == [0, 5, None]
    assert told[-1]["label"] == "other kernels and copies"
    assert by_kernel["palette"] == [*KERNELS[:2], OTHER_KERNELS]


def test_a_kernel_that_dominates_no_bar_may_dominate_a_window_and_is_in_the_legend() -> None:
    by_kernel = coloring(scene(8, kernels=(0, 6)))["kernel"]
    assert [entry["name"] for entry in by_kernel["legend"] if "name" in entry] == [0, 6]


def test_every_facet_has_its_colour() -> None:
    drawn = scene(8, kernels=(5, 0))
    facet, colors = facet_of(drawn, "phase")
    assert facet == "code"
    assert [list(COLORS)[code] for code in colors[: len(ACTIVITY)]] == list(ACTIVITY)
    assert colors[NOTHING] == color_code("other")
    facet, colors = facet_of(drawn, "kind")
    assert facet == "kind"
    assert colors[: len(KINDS)].tolist() == [*range(len(KINDS))]
    facet, colors = facet_of(drawn, "kernel")
    assert facet == "group"
    # Two kernels, then groups of all others, and what takes no time.
    assert colors[[0, 1, 2, 3, NOTHING]].tolist() == [0, 1, 2, 2, 2]


def test_the_facts_hold_all_that_controls_need() -> None:
    facts = json.loads(payload(scene(8)).facts)
    assert facts["toolbar"] is True
    assert facts["roles"] == ["generation", "policy"]
    assert facts["remarks"][0]["row"] == 1
    assert facts["remarks"][1]["left"] is None
    assert facts["names"][str(facts["coloring"]["kernel"]["names"][0])] == NAMES[0]
    assert json.loads(payload(scene(8), toolbar=False).facts)["toolbar"] is False
    json.loads(payload(hostile()).facts)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZoomableRun:
    folder = tmp_path_factory.mktemp("run")
    write(folder, steps=2, kernels_per_gpu=1_000)
    return rlviz.load(folder)


def test_the_kind_of_every_event_is_that_of_its_table_and_its_name(run: ZoomableRun) -> None:
    communicates = run.rules.communication.matches(run.events.names).to_numpy()
    part = run.events.parts[0]
    start, end = int(part.start_ns[0]), int(part.start_ns[min(400, len(part.start_ns) - 1)])
    drawn = compose(run)
    bars = draw_activity(run, [r for r in drawn.rows if r.row == part.row], (start, end))
    known = {}
    for one in run.events.parts:
        for name, kind in zip(one.name, one.kind, strict=True):
            other = "graph" if kind == GRAPH else "copy"
            by_name = "communication" if communicates[name] else "compute"
            known[int(name)] = by_name if kind == KERNEL else other
    assert len(bars.left) > 100
    assert [KINDS[kind] for kind in bars.kind] == [known[int(name)] for name in bars.name]


def test_the_ten_kernels_with_most_time_have_colours(run: ZoomableRun) -> None:
    names = [run.events.names[code] for code in run.groups.kernels]
    assert names == run.top_kernels()["short_name"].head(10).to_list()


def test_findings_stand_on_the_chart_in_their_order(run: ZoomableRun) -> None:
    found = compose(run).remarks
    assert [remark.text for remark in found] == run.findings["text"].to_list()
    for remark, start_ns in zip(found, run.findings["start_ns"], strict=True):
        assert remark.left == (None if start_ns is None else start_ns / 1e9)


def test_the_legend_holds_what_only_a_window_shows(tmp_path: Path) -> None:
    write(tmp_path, steps=2, kernels_per_gpu=2_000)
    run = rlviz.load(tmp_path, cache=False)
    whole = compose(run)
    told = {entry["label"] for entry in legend(whole) if entry["kind"] == "color"}
    assert "communication" in told
    shown = {int(code) for track in run.tracks.values() for code in np.unique(track.code)}
    assert set(whole.activity) == {color_code(ACTIVITY[code]) for code in shown}

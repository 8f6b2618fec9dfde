"""The truth's arithmetic, on runs that other hands simulated and whose answers they computed."""

from __future__ import annotations

from typing import Any

import pytest

from rlviz.demo.scenario import Scenario
from rlviz.demo.truth import truth_of
from tests.demo.foreign import plan_from
from tests.shared import needs_shared, truth

pytestmark = needs_shared

RUNS = {
    "nemo_async": (Scenario(), [[3, 4, 5, 6, 7]]),
    "nemo_skew": (Scenario(), [[3, 4, 5, 6, 7]]),
    "sync_colocated": (Scenario(colocated=True), [[1, 2, 3, 4]]),
    "verl_async": (Scenario(framework="verl", captures=2), [[2, 3], [5, 6]]),
}


def differences(ours: Any, theirs: Any, place: str = "") -> list[str]:
    """Places where both have an answer and the answers differ."""
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return [
            found
            for key in ours.keys() & theirs.keys()
            for found in differences(ours[key], theirs[key], f"{place}/{key}")
        ]
    if isinstance(ours, (list, tuple)) and isinstance(theirs, list) and len(ours) == len(theirs):
        return [
            found
            for index, pair in enumerate(zip(ours, theirs, strict=True))
            for found in differences(*pair, f"{place}/{index}")
        ]
    same = ours == theirs or (isinstance(ours, float) and ours == pytest.approx(theirs))
    return [] if same else [f"{place}: ours {ours}, theirs {theirs}"]


@pytest.mark.parametrize("run", RUNS)
def test_a_number_means_what_it_means_to_those_who_wrote_the_definitions(run: str) -> None:
    scenario, captures = RUNS[run]
    folder, theirs = truth(run)
    ours: dict[str, Any] = truth_of(plan_from(folder, theirs, scenario, captures))
    for key in ("gpus", "gpu_hull", "iterations", "segments"):
        found = differences(ours[key], theirs[key])
        # Where a rank left several reports, they name its first one, we the iteration's own.
        assert not [one for one in found if "training_straggler/report" not in one]
    for mine, known in zip(ours["iterations"], theirs["iterations"], strict=True):
        assert known.keys() <= mine.keys()

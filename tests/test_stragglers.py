"""Training stragglers: who waits for whom is told by collectives that end together."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

import rlviz
from rlviz.run.stragglers import TrainingStraggler
from tests.exports import Export
from tests.ranks import ALL_REDUCE, MS, SECOND

if TYPE_CHECKING:
    from pathlib import Path


def trained(
    folder: Path, late_ms: list[list[int]], end_ms: list[list[int]]
) -> TrainingStraggler | str:
    """Load ranks whose k-th all-reduce starts so late and ends then; give the straggler."""
    for number, (late, ends) in enumerate(zip(late_ms, end_ms, strict=True)):
        path = folder / f"dtensor_policy_worker_1:2_{number}.sqlite"
        with Export(path, pid=number + 1, duration_ns=10 * SECOND) as export:
            export.gpu(f"gpu-{number}", f"0000:{number:02x}:00.0")
            export.push_pop(SECOND, 5 * SECOND, "dtensor_policy_worker/train")
            for k, (start, end) in enumerate(zip(late, ends, strict=True)):
                at = 2 * SECOND + k * 200 * MS
                export.kernel(at + start * MS, at + end * MS, ALL_REDUCE, short=ALL_REDUCE)
    (found,) = rlviz.load(folder).metrics.training_stragglers
    return found


def test_all_wait_for_the_rank_that_starts_last(tmp_path: Path) -> None:
    late = [[0, 0, 1], [30, 20, 0], [1, 2, 5]]
    found = trained(tmp_path, late, [[40, 40, 40]] * 3)
    assert isinstance(found, TrainingStraggler)
    assert (found.row, found.charged_ns, found.times_last, found.matched) == (1, 50 * MS, 2, 3)
    assert found.charged_by_row_ns == {0: 0, 1: 50 * MS, 2: 5 * MS}


def test_ranks_of_another_communicator_are_not_waited_for(tmp_path: Path) -> None:
    # Two tensor-parallel groups: the second is 50 ms behind in all that it does, and keeps nobody
    # of the first waiting; inside of it, rank 2 starts 3 ms after rank 3.
    late = [[0, 0], [1, 2], [53, 53], [50, 50]]
    ends = [[10, 10], [10, 10], [60, 60], [60, 60]]
    found = trained(tmp_path, late, ends)
    assert isinstance(found, TrainingStraggler)
    assert (found.row, found.charged_ns, found.matched) == (2, 6 * MS, 4)
    assert found.charged_by_row_ns == {0: 0, 1: 3 * MS, 2: 6 * MS, 3: 0}


def test_ranks_that_end_nothing_together_have_no_straggler(tmp_path: Path) -> None:
    found = trained(tmp_path, [[0, 0], [50, 50]], [[10, 10], [60, 60]])
    assert found == "no-matched-collectives"


def test_policies_without_gpu_rows_have_no_straggler_for_that_reason(tmp_path: Path) -> None:
    for pid in (1, 2):
        with Export(tmp_path / f"dtensor_policy_worker_1:2_{pid}.sqlite", pid=pid) as export:
            export.push_pop(100 * MS, 500 * MS, "dtensor_policy_worker/train")
    run = rlviz.load(tmp_path)
    assert run.metrics.training_stragglers == ("no-gpu-rows",)
    messages = run.diagnostics.filter(kind="unknown-straggler")["message"].to_list()
    assert messages == [
        "The training straggler is unknown in 1 iteration: the training ranks have no GPU rows."
    ]


def test_spreads_equal_those_of_a_brute_force_over_every_group() -> None:
    from rlviz.run.stragglers import _charge

    rng = np.random.default_rng(5)
    groups = np.array([0, 0, 0, 1, 1, 2])
    ends = np.array([10, 30, 50])[groups][:, None] * MS + rng.integers(-20_000, 20_000, (6, 40))
    starts = ends - rng.integers(1, 9 * MS, (6, 40))
    charged = [0] * 6
    for k in range(40):
        for group in range(2):
            members = np.flatnonzero(groups == group)
            own = starts[members, k]
            charged[members[int(own.argmax())]] += int(own.max() - own.min())
    found = _charge(starts, ends, list(range(6)))
    assert found is not None
    assert list(found.charged_by_row_ns.values()) == charged
    assert found.matched == 80

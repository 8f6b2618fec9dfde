"""Which collectives put hosts on one clock, and which do not."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from tests.ranks import ALL_REDUCE, BROADCAST, MS, ends_of, rank
from tests.small_reports import told

if TYPE_CHECKING:
    from pathlib import Path


TENTH_MS = 100_000


def methods(run: rlviz.Run) -> list[str]:
    found: list[str] = run.reports["alignment"].to_list()
    return found


def two_hosts(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> rlviz.Run:
    """Two ranks on two hosts, the clock of the second 37 ms ahead."""
    rank(folder / "w_1.sqlite", pid=1, host="node-1", **first)
    rank(folder / "w_2.sqlite", pid=2, host="node-2", error_ns=37 * MS, **second)
    return rlviz.load(folder)


def test_a_communicator_of_other_size_with_the_same_kernels_does_not_mislead(
    tmp_path: Path,
) -> None:
    # on each host a second communicator runs the same kernel on a grid and a stream of its own
    ends = ends_of(5)
    own = ends_of(6, 60)[0], ends_of(7, 60)[0]
    run = two_hosts(
        tmp_path,
        {"ends": ends[0], "more": ((own[0], ALL_REDUCE, 8, 21),)},
        {"ends": ends[1], "more": ((own[1], ALL_REDUCE, 8, 22),)},
    )
    assert abs(run.reports["offset_ns"][1] + 37 * MS) < TENTH_MS
    assert run.reports["anchors"].to_list() == [40, 40]


def test_collectives_of_two_communicators_that_only_look_alike_tell_nothing(
    tmp_path: Path,
) -> None:
    run = two_hosts(tmp_path, {"ends": ends_of(8, 60)[0]}, {"ends": ends_of(9, 60)[0]})
    assert methods(run) == ["utc", "utc"]
    assert len(told(run, "clock-by-utc")) == 1


def test_what_is_no_collective_of_a_library_tells_nothing(tmp_path: Path) -> None:
    ends = ends_of(5)
    name = "my_all_reduce_kernel"
    run = two_hosts(tmp_path, {"ends": ends[0], "name": name}, {"ends": ends[1], "name": name})
    assert methods(run) == ["utc", "utc"]


def test_pools_on_hosts_of_their_own_are_told_by_the_broadcasts_of_refits(tmp_path: Path) -> None:
    ends = ends_of(10, 30, ranks=4)
    lead = 250_000  # the root is done earlier
    for number, host, error in ((0, "node-1", 0), (1, "node-1", 0), (2, "node-2", 37), (3, "", 37)):
        rank(
            tmp_path / f"w_{number}.sqlite",
            ends[number] - lead * (number == 0),
            pid=number + 1,
            host=host or "node-2",
            error_ns=error * MS,
            name=BROADCAST,
        )
    run = rlviz.load(tmp_path)
    assert methods(run) == ["utc", "utc", "broadcasts", "broadcasts"]
    assert abs(run.reports["offset_ns"][2] + 37 * MS) < TENTH_MS
    (line,) = told(run, "clock-corrected")
    assert "bias up to" in line["message"]


def test_a_correction_by_broadcasts_below_their_bias_is_none(tmp_path: Path) -> None:
    # with one rank a side, one of them may be the root
    ends = ends_of(11, 30)
    for number, error in ((0, 0), (1, 3)):
        path = tmp_path / f"w_{number}.sqlite"
        host = f"node-{number}"
        one = ends[number]
        rank(path, one, pid=number + 1, host=host, error_ns=error * MS, name=BROADCAST)
    run = rlviz.load(tmp_path)
    assert methods(run) == ["utc", "utc"]
    assert run.reports["residual_median_ns"].to_list() == pytest.approx([3 * MS] * 2, abs=TENTH_MS)

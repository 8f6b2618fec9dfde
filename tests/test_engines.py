"""Tensor-parallel ranks of an engine stand together."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import rlviz
from tests.exports import Export

if TYPE_CHECKING:
    from pathlib import Path

UPDATE = "vllm_internal_worker_extension/update_weights_from_collective"


def worker(
    folder: Path, pid: int, bus: int, groups: list[tuple[int, int, int]], role: str = "vllm_tp"
) -> None:
    """Write a worker; `groups` are its communicators: number, ranks, rank."""
    with Export(folder / f"{role}_worker_1:3_{pid}.sqlite", pid=pid) as export:
        export.gpu(f"gpu-{bus}", f"0000:{bus:02x}:00.0")
        export.domain(1, "NCCL")
        export.kernel(100, 200)
        if role == "vllm_tp":
            export.push_pop(0, 90, UPDATE)
        for number, ranks, rank in groups:
            payload = {"NCCL communicator ID": number, "No. of ranks": ranks, "Rank": rank}
            export.push_pop(100, 110, "ncclAllReduce", domain=1)
            export._rows["NVTX_EVENTS"][-1]["jsonText"] = json.dumps(payload)


def order(folder: Path) -> list[int]:
    return rlviz.load(folder).rows["pid"].to_list()


def test_ranks_of_an_engine_stand_together_though_their_buses_alternate(tmp_path: Path) -> None:
    # engine 7 has buses 10 and 30, engine 8 has 20 and 40; all four refit together
    for pid, bus, engine, rank in ((1, 10, 7, 1), (2, 20, 8, 0), (3, 30, 7, 0), (4, 40, 8, 1)):
        worker(tmp_path, pid, bus, [(engine, 2, rank), (99, 4, pid - 1)])
    assert order(tmp_path) == [3, 1, 2, 4]


def test_a_communicator_with_the_policy_is_no_engine(tmp_path: Path) -> None:
    worker(tmp_path, 1, 10, [(99, 3, 2)])
    worker(tmp_path, 2, 20, [(99, 3, 1)])
    worker(tmp_path, 3, 5, [(99, 3, 0)], role="dtensor_policy")
    assert order(tmp_path) == [1, 2, 3]


def test_two_communicators_of_one_number_make_no_engine(tmp_path: Path) -> None:
    worker(tmp_path, 1, 10, [(7, 2, 0)])
    worker(tmp_path, 2, 20, [(7, 2, 0)])
    worker(tmp_path, 3, 5, [])
    assert order(tmp_path) == [3, 1, 2]

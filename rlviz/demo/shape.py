"""How coarse a simulated run is: the budget of kernels, dealt over what a step consists of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rlviz.demo.scenario import Scenario

__all__ = ["MS", "SECOND", "US", "Shape", "shape_of"]

US = 1_000
MS = 1_000_000
SECOND = 1_000_000_000

BROADCASTS = 6  # packed buffers in a refit


@dataclass(frozen=True)
class Shape:
    """Counts for one training step and one generation segment.

    A chunk is a stretch of compute without a gap in it, about one layer's forward or backward; a
    group is the chunks between two collectives.
    """

    pace: float
    parts: int
    logprob_groups: int
    train_groups: int
    chunks: int
    prefills: int
    decodes: int
    decode_parts: int
    tail_decodes: int
    lonely_decodes: int


def shape_of(scenario: Scenario) -> Shape:
    """Deal the kernels a GPU may have over the steps and their stages."""
    # A capture sees a little of the segment before its first step and of the one after its last.
    budget = 0.93 * scenario.kernels_per_gpu / (scenario.steps + 0.35 * scenario.captures)
    if scenario.colocated:
        budget /= 2
    return Shape(
        pace=0.6 if scenario.colocated else 1.0,
        **_training(budget),
        **_generation(budget, nodes=scenario.graph_trace == "node", lonely=scenario.long_tail),
    )


def _training(budget: float) -> dict[str, int]:
    parts = 12 if budget >= 1500 else 6 if budget >= 400 else 3
    # Beside its kernels, a chunk has half a kernel on another stream; a group has a collective.
    chunks_in_all = (budget - 2 * parts - BROADCASTS - 1) / (parts + 0.9)
    train = max(2, int(chunks_in_all * 0.76))
    groups = max(2, min(64, train // 4))
    chunks = max(1, train // groups)
    return {
        "parts": parts,
        "logprob_groups": max(1, int(chunks_in_all * 0.12) // chunks),
        "train_groups": groups,
        "chunks": chunks,
    }


def _generation(budget: float, *, nodes: bool, lonely: bool) -> dict[str, int]:
    lonely_decodes = max(12, min(1_500, int(budget * 0.2))) if lonely else 0
    left = budget - lonely_decodes - BROADCASTS - 4
    decode_parts = 1 if not nodes else 6 if budget >= 1500 else 3
    # Prefills count with the parts of a training chunk, at most 12.
    prefills = max(1, int(left * 0.1) // 12)
    return {
        "prefills": prefills,
        "decodes": max(4, min(700, int(left * 0.36) // decode_parts)),
        "decode_parts": decode_parts,
        "tail_decodes": max(4, min(4_500, int(left * 0.46))),
        "lonely_decodes": lonely_decodes,
    }

"""Rows of the chart: their places, labels and shades."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from rlviz.run.intervals import clip, intersection, subtraction, total
from rlviz.run.rules import POOLS
from rlviz.view.scene import PoolBand, Row, Shade
from rlviz.view.sizes import BAND, FOOT_PX, GROUP_HEAD_PX, POOL_HEAD_PX, row_height_px

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run

    Int64 = NDArray[np.int64]
    Spans = tuple[Int64, Int64]

__all__ = ["place_rows", "shade_rows"]


def place_rows(
    run: Run, busy: Mapping[int, Spans], captured: Mapping[int, Spans]
) -> tuple[tuple[Row, ...], tuple[PoolBand, ...], float]:
    """Place the rows of all pools below each other.

    Parameters
    ----------
    run : Run
        The run; its rows may have a column `group`, the names of runs: each has a heading, then.
    busy, captured : mapping of int to (ndarray, ndarray)
        Busy and captured spans by row; a row without GPU data has no busy spans.

    Returns
    -------
    rows : tuple of Row
    pools : tuple of PoolBand
    height : float
        Of the whole drawing area, in row units.
    """
    lanes: dict[int, list[dict[str, object]]] = {}
    for lane in run.rows.iter_rows(named=True):
        lanes.setdefault(lane["row"], []).append(lane)
    unit_px = row_height_px(len(lanes))
    rows: list[Row] = []
    pools: list[PoolBand] = []
    y = 0.0
    groups = dict.fromkeys(str(own[0].get("group", "")) for own in lanes.values())
    headed: set[str] = set()
    for group, pool in product(groups, POOLS):
        members = [
            row
            for row, own in lanes.items()
            if own[0]["pool"] == pool and own[0].get("group", "") == group
        ]
        if not members:
            continue
        if group and group not in headed:
            headed.add(group)
            y += GROUP_HEAD_PX / unit_px
        top = y
        y += POOL_HEAD_PX / unit_px
        for row in members:
            rows.append(_row(row, lanes[row], y, busy.get(row), captured[row]))
            y += 1.0
        pools.append(PoolBand(pool, top, y, group))  # type: ignore[arg-type]
    return tuple(rows), tuple(pools), y + FOOT_PX / unit_px if rows else 0.0


def shade_rows(
    rows: Sequence[Row],
    captured: Mapping[int, Spans],
    edges: Mapping[int, Spans],
    limits: tuple[int, int],
) -> Iterator[Shade]:
    """Shade what was not captured, the edges of captures, and rows without GPU data.

    Parameters
    ----------
    rows : sequence of Row
        Rows in their places.
    captured, edges : mapping of int to (ndarray, ndarray)
        Captured spans, and edges of captures, by row.
    limits : (int, int)
        First and last nanosecond of the chart.
    """
    everything = np.array([limits[0]]), np.array([limits[1]])
    for row in rows:
        own = captured[row.row]
        yield from _shades(row, subtraction(*everything, *own), "not_captured")
        if row.gpu_data:
            yield from _shades(row, edges[row.row], "edge")
        else:
            yield from _shades(row, clip(*own, *limits), "no_gpu_data")


def _row(
    number: int,
    lanes: Sequence[dict[str, object]],
    top: float,
    busy: Spans | None,
    captured: Spans,
) -> Row:
    first = lanes[0]
    group, roles = str(first.get("group", "")), (str(lane["role"]) for lane in lanes)
    has_gpu = bool(first["gpu_data"])
    inside = total(*captured)
    share = None
    if has_gpu and inside > 0:
        share = total(*intersection(*busy, *captured)) / inside if busy is not None else 0.0
    return Row(
        row=number,
        top=top,
        bottom=top + BAND,
        label=str(first["label"]),
        host=str(first["host"] or ""),
        pool=first["pool"],  # type: ignore[arg-type]
        gpu_data=has_gpu,
        busy_share=share,
        details=_details(lanes),
        role=" ".join(filter(None, (group, ", ".join(dict.fromkeys(roles))))),
        group=group,
    )


def _details(lanes: Sequence[dict[str, object]]) -> dict[str, str]:
    first = lanes[0]
    known = {
        "run": first.get("group"),
        "GPU": first["gpu_name"],
        "bus": first["gpu_bus"],
        "worker": ", ".join(
            f"{lane['role']}" + ("" if lane["pid"] is None else f" (pid {lane['pid']})")
            for lane in lanes
        ),
        "rank": ", ".join(str(lane["rank"]) for lane in lanes if lane["rank"] is not None),
    }
    return {key: str(value) for key, value in known.items() if value}


def _shades(row: Row, spans: Spans, kind: str) -> Iterator[Shade]:
    for start, end in zip(*spans, strict=True):
        yield Shade(row.row, start / 1e9, end / 1e9, row.top, row.bottom, kind)  # type: ignore[arg-type]

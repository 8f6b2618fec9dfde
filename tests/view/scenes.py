"""Scenes made by hand, so that drawing is tested without a report."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np

from rlviz.view.scene import (
    Bars,
    Bracket,
    Line,
    Overlays,
    Overview,
    PoolBand,
    Remark,
    Row,
    Scene,
    Shade,
)
from rlviz.view.sizes import BAND, row_height_px

COLORS = (
    "generation",
    "logprobs",
    "training",
    "refit",
    "communication",
    "copy",
    "range",
)
NAMES = (
    "flash_fwd_splitkv_kernel",
    "dtensor_policy_worker_v2/get_logprobs",
    "dtensor_policy_worker_v2/train",
    "ncclDevKernel_AllGather_RING_LL",
    "vllm_internal_worker_extension/update_weights_from_collective",
    "cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_256x128_64x3_tn_align8",
    "Memcpy DtoD",
    "thread 4242 (ray::PolicyWorker)",
    "NVTX default domain",
    "NCCL",
    "microbatch",
    "ncclAllGather",
)
# Indices into `rlviz.levels.groups.KINDS`, by name.
KIND_OF_NAME = {0: 0, 1: 0, 2: 0, 3: 1, 5: 0, 6: 2}
HOSTILE = (
    "</script><script>globalThis.__pwned=1</script>",
    '<img src=x onerror="globalThis.__pwned=1">\'"`${globalThis.__pwned=1}{{7*7}}',
    "$$\\require{html}\\href{https://example.com}{x}$$",
    "lone\ud800surrogate\x00nul\x1b[31m\u202egnp.exe\u2066\u200bzero",
    "]]>--><!--<script>",
    "x" * 1_000_000,
)
PERIOD_S = 31.0


@cache
def scene(rows: int = 8, *, iterations: int = 3, buckets: int = 0, **changes: Any) -> Scene:
    """Make a run like the mock-up's: half the rows generate, half of them train."""
    buckets = buckets or min(1500, 24_000 // rows)
    half = max(rows // 2, 1)
    unit = row_height_px(rows)
    head = 40 / unit
    end = PERIOD_S * iterations + 3.0
    random = np.random.default_rng(7)
    drawn: list[Row] = []
    pools: list[PoolBand] = []
    bars: list[tuple[Any, ...]] = []
    ranges: list[tuple[Any, ...]] = []
    shades: list[Shade] = []
    y = 0.0
    for pool, count in (("generation", half), ("training", max(rows - half, 0))):
        if not count:
            continue
        top, y = y, y + head
        for index in range(count):
            number = len(drawn)
            row = Row(
                row=number,
                top=y,
                bottom=y + BAND,
                label=f"GPU {index % 8} {'vllm' if pool == 'generation' else 'policy'} {index}",
                host=f"node-{1 + index // 8}",
                pool=pool,  # type: ignore[arg-type]
                gpu_data=True,
                busy_share=0.5 + 0.01 * index % 0.4,
                details={"GPU": "NVIDIA H100 80GB HBM3", "pid": str(4000 + number)},
                role="generation" if pool == "generation" else "policy",
            )
            drawn.append(row)
            fill = _generation if pool == "generation" else _training
            fill(row, iterations, buckets, random, bars, ranges)
            shades.append(Shade(number, end - 1.5, end, row.top, row.bottom, "edge"))
            y += 1.0
        pools.append(PoolBand(pool, top, y))  # type: ignore[arg-type]
    height = y + 16 / unit
    values: dict[str, Any] = {
        "title": f"llama-3-8b async GRPO · 2 hosts · {rows} GPUs",
        "subtitle": f"{end:.1f} s · generation idle 28 %, training idle 15 %",
        "caption": "aligned by UTC · all ranks present",
        "simulated": True,
        "start_s": 0.0,
        "end_s": end,
        "first_s": -12.0,
        "last_s": end + 2.0,
        "height": height,
        "run_start_utc_ns": 1_750_000_000_123_456_789,
        "names": NAMES,
        "colors": COLORS,
        "rows": tuple(drawn),
        "pools": tuple(pools),
        "bars": _bars(bars),
        "overlays": _overlays(ranges),
        "shades": (
            *shades,
            *(Shade(r.row, -12.0, -2.0, r.top, r.bottom, "not_captured") for r in drawn),
        ),
        "brackets": _brackets(pools, iterations, unit),
        "lines": tuple(
            Line(PERIOD_S * k - 1.5, "boundary", "refit 0.55 s") for k in range(1, iterations + 1)
        ),
        "overview": tuple(_overview(pool.name, end) for pool in pools),
        "kernels": (0, 5, 3),
        "remarks": (
            Remark("GPU 1 vllm 1 generates 2.1 s longer than the others", 2.1, 18.0, 21.0, 1),
            Remark("2 ranks are in no report", None, None, None, None),
        ),
        "iterations": tuple(
            (3 + k, PERIOD_S * k, PERIOD_S * (k + 1), False) for k in range(iterations)
        ),
    }
    return Scene(**(values | changes))


@cache
def empty() -> Scene:
    """Make a scene without a single row."""
    return replace(
        scene(2, iterations=1, buckets=4),
        rows=(),
        pools=(),
        bars=_bars([]),
        overlays=_overlays([]),
        shades=(),
        brackets=(),
        lines=(),
        overview=(),
        start_s=0.0,
        end_s=0.0,
        first_s=0.0,
        last_s=0.0,
        height=0.0,
        notes=("No report has rows to draw.",),
        kernels=(),
        remarks=(),
    )


@cache
def hatched() -> Scene:
    """Make a scene whose first row has ranges and no GPU data."""
    base = scene(3)
    first = base.rows[0]
    bare = Row(first.row, first.top, first.bottom, "driver", first.host, "generation", False, None)
    keep = base.bars.row != first.row
    bars = Bars(*(getattr(base.bars, name)[keep] for name in Bars.__dataclass_fields__))
    shade = Shade(first.row, base.first_s, base.last_s, first.top, first.bottom, "no_gpu_data")
    return replace(base, rows=(bare, *base.rows[1:]), bars=bars, shades=(*base.shades, shade))


@cache
def hostile() -> Scene:
    """Make a scene whose every text wants to be code."""
    base = scene(4)
    rows = tuple(
        Row(
            row.row,
            row.top,
            row.bottom,
            HOSTILE[row.row % len(HOSTILE)],
            HOSTILE[(row.row + 2) % len(HOSTILE)],
            row.pool,
            row.gpu_data,
            row.busy_share,
            {HOSTILE[0]: HOSTILE[1], "report": HOSTILE[3]},
            HOSTILE[row.row % len(HOSTILE)],
        )
        for row in base.rows
    )
    names = tuple(HOSTILE[i % len(HOSTILE)] for i in range(len(NAMES)))
    brackets = tuple(
        Bracket(b.pool, b.left, b.right, b.y, HOSTILE[0], b.partial, b.iteration)
        for b in base.brackets
    )
    lines = tuple(Line(line.at, line.kind, HOSTILE[1]) for line in base.lines)
    return replace(
        base,
        rows=rows,
        names=names,
        brackets=brackets,
        lines=lines,
        title=HOSTILE[0],
        subtitle=HOSTILE[1],
        caption=HOSTILE[3],
        notes=HOSTILE,
        remarks=tuple(Remark(text, 1.0, 3.0, 4.0, 1) for text in HOSTILE),
    )


def _generation(
    row: Row,
    iterations: int,
    buckets: int,
    random: np.random.Generator,
    bars: list[tuple[Any, ...]],
    ranges: list[tuple[Any, ...]],
) -> None:
    step = PERIOD_S * iterations / buckets
    for k in range(iterations):
        start = PERIOD_S * k
        stop = start + 20.0 + random.uniform(-1.0, 1.0)
        edges = np.arange(start, stop, step)
        share = np.minimum(0.65, np.linspace(1.4, 0.3, edges.size)) * random.uniform(
            0.9, 1.1, edges.size
        )
        for left, high in zip(edges, share, strict=True):
            bars.append((left, left + step, row, high, 0, 0, 412, 0.83))
        refit = start + PERIOD_S - 2.0
        bars.append((refit, refit + 0.55, row, 0.6, 3, 3, 80, 1.0))
        ranges.append((refit, refit + 0.55, row, 4, 8, 3, 0, True, np.nan))
        ranges.append((refit + 0.05, refit + 0.5, row, 11, 9, 4, 1, False, 0.8))


def _training(
    row: Row,
    iterations: int,
    buckets: int,
    random: np.random.Generator,
    bars: list[tuple[Any, ...]],
    ranges: list[tuple[Any, ...]],
) -> None:
    step = PERIOD_S * iterations / buckets
    for k in range(iterations):
        start = PERIOD_S * k + 3.0
        for left, right, name, color in (
            (start, start + 3.3, 1, 1),
            (start + 3.6, start + 6.6, 1, 1),
            (start + 8.0, start + 25.5, 2, 2),
        ):
            ranges.append((left, right, row, name, 8, color, 0, True, np.nan))
            edges = np.arange(left, right - step, step)
            for edge in edges:
                gap = (edge - left) % 2.2 < 0.16 and color == 2
                high = 0.5 if gap else random.uniform(0.55, 0.7)
                bars.append(
                    (edge, edge + step, row, high, 3 if gap else 5, 4 if gap else color, 9, 0.7)
                )
        for part in range(8):
            left = start + 8.0 + part * 2.187
            ranges.append((left, left + 2.1, row, 10, 8, 2, 1, True, 0.12))
        bars.append((start + 25.6, start + 26.1, row, 0.55, 3, 3, 1, 1.0))


def _bars(found: list[tuple[Any, ...]]) -> Bars:
    rows = [f[2] for f in found]
    left, right = np.array([f[0] for f in found], float), np.array([f[1] for f in found], float)
    share = np.array([f[3] for f in found], float)
    bottom = np.array([r.bottom for r in rows], float)
    return Bars(
        left=left,
        right=right,
        top=bottom - share * BAND,
        bottom=bottom,
        row=np.array([r.row for r in rows], np.int32),
        name=np.array([f[4] for f in found], np.int32),
        color=np.array([f[5] for f in found], np.int32),
        kind=np.array([KIND_OF_NAME[f[4]] for f in found], np.int32),
        count=np.array([f[6] for f in found], np.int32),
        busy_s=(right - left) * share,
        name_share=np.array([f[7] for f in found], float),
    )


def _overlays(found: list[tuple[Any, ...]]) -> Overlays:
    rows = [f[2] for f in found]
    depth = np.array([f[6] for f in found], np.int32)
    return Overlays(
        left=np.array([f[0] for f in found], float),
        right=np.array([f[1] for f in found], float),
        top=np.array([r.top for r in rows], float) + 0.06 * depth,
        bottom=np.array([r.bottom for r in rows], float) - 0.06 * depth,
        row=np.array([r.row for r in rows], np.int32),
        name=np.array([f[3] for f in found], np.int32),
        domain=np.array([f[4] for f in found], np.int32),
        thread=np.full(len(found), 7, np.int32),
        color=np.array([f[5] for f in found], np.int32),
        depth=depth,
        count=np.ones(len(found), np.int32),
        truncated=np.zeros(len(found), bool),
        parent_share=np.array([f[8] for f in found], float),
        shown=np.array([f[7] for f in found], bool),
    )


def _brackets(pools: list[PoolBand], iterations: int, unit: float) -> tuple[Bracket, ...]:
    found = []
    for pool in pools:
        for k in range(iterations):
            start = PERIOD_S * k
            number = k + (3 if pool.name == "generation" else 4)
            left, right, word = (
                (start, start + 28.9, f"Gen {number}  (weights {number})")
                if pool.name == "generation"
                else (start + 2.2, start + 29.3, f"Train {number}")
            )
            y = pool.top + 30 / unit
            found.append(Bracket(pool.name, left, right, y, word, k == iterations - 1, number))
    return tuple(found)


def _overview(pool: str, end: float) -> Overview:
    edges = np.linspace(-12.0, end + 2.0, 401)
    middle = (edges[1:] + edges[:-1]) / 2
    phase = middle % PERIOD_S
    share = (
        np.clip(1.4 - phase / 22, 0, 1)
        if pool == "generation"
        else ((phase > 3) & (phase < 29)) * 0.9
    )
    return Overview(pool, edges, np.where((middle < 0) | (middle > end), 0.0, share))  # type: ignore[arg-type]

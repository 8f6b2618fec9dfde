"""NVTX ranges on levels of their rows: what may be drawn as one, and where each level stands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rlviz.run.events import lookup
from rlviz.run.nesting import parents
from rlviz.run.rules import PHASES
from rlviz.view.merged_ranges import Merged, MergedRanges, Scale
from rlviz.view.palette import color_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run
    from rlviz.view.scene import Row

    Int64 = NDArray[np.int64]
    Int32 = NDArray[np.int32]

__all__ = ["LeveledRanges", "colors_of_ranges", "heights", "leveled_ranges"]

# Of libraries: a range for each of their calls, so they are off until asked for.
_HIDDEN_DOMAINS = ("NCCL", "CCCL", "cuBLAS", "cuDNN", "CUDA")

# What may be drawn as one stands on one of these.
_LEVEL = ["row", "lane", "group", "depth", "shown"]
_PLACE = [*_LEVEL, "push_pop"]
# No row is so high that more levels and threads could be told apart in a lane of it.
_MOST_LEVELS = 100
_SMALL_THREADS = -2  # the group of those for which there is no room
# A range inset in another leaves this much of the other's head free, as a share of the band.
_INSET = 0.2
_MOST_INSET = 0.6


@dataclass(frozen=True)
class LeveledRanges:
    """The ranges of a run on their levels; arrays have shape (n,), by number of a range.

    Parameters
    ----------
    places : polars.DataFrame
        Where ranges can be: row, lane, group (a thread; -1 what belongs to the process), depth,
        shown (False: of a domain that is off at first), push_pop.
    place : ndarray of int32
        Number of a place.
    name, domain, thread, color : ndarray of int32
        Codes; of domain and thread -1 where there is none.
    parent_ns : ndarray of int64
        Length of the range around it; 0 where there is none.
    levels : MergedRanges
        When they were, merged to several widths.
    """

    places: pl.DataFrame
    place: Int32
    name: Int32
    domain: Int32
    thread: Int32
    color: Int32
    parent_ns: Int64
    levels: MergedRanges


_CLASSES = (LeveledRanges, MergedRanges, Scale, Merged)


def leveled_ranges(run: Run) -> LeveledRanges:
    """Give the ranges of a run on their levels."""
    return run.remember("leveled_ranges", _CLASSES, lambda: _made(run))


def _made(run: Run) -> LeveledRanges:
    ranges = _leveled(run)
    places = ranges.select(_PLACE).unique(maintain_order=True)
    levels = places.select(_LEVEL).unique(maintain_order=True).with_row_index("level")
    places = places.join(
        levels, on=_LEVEL, how="left", nulls_equal=True, maintain_order="left"
    ).with_row_index("place")
    own = ranges.select(_PLACE).join(
        places, on=_PLACE, how="left", nulls_equal=True, maintain_order="left"
    )

    def codes(column: str) -> Int32:
        return ranges[column].fill_null(-1).cast(pl.Int32).to_numpy()

    start, end, truncated = (ranges[c].to_numpy() for c in ("start_ns", "end_ns", "truncated"))
    return LeveledRanges(
        places.select(_PLACE),
        own["place"].cast(pl.Int32).to_numpy(),
        codes("name"),
        codes("domain"),
        codes("thread_name"),
        codes("color"),
        ranges["parent"].fill_null(0).to_numpy(),
        MergedRanges.of(own["level"].cast(pl.Int32).to_numpy(), start, end, truncated),
    )


def colors_of_ranges(run: Run, names: pl.Series) -> pl.Series:
    """Give the colours of ranges by their names: those of the phases that they mark."""
    codes = {phase: color_code(phase) for phase in PHASES}
    phases = run.rules.phases_of(names)
    return phases.replace_strict(codes, default=color_code("range"), return_dtype=pl.Int32)


def _leveled(run: Run) -> pl.DataFrame:
    events = run.events
    ranges = events.ranges
    colors = colors_of_ranges(run, run.events.names)
    hidden = events.names.str.to_lowercase().is_in([d.lower() for d in _HIDDEN_DOMAINS])
    is_hidden = lookup(hidden, ranges["domain"]).fill_null(value=False)
    told = _with_parents(
        ranges.with_columns(
            lookup(colors, ranges["name"]).alias("color"),
            (~is_hidden).alias("shown"),
            # Start/end ranges belong to the process: one group for all its threads.
            pl.when(pl.col("push_pop")).then(pl.col("thread")).otherwise(-1).alias("group"),
            (pl.col("end_ns") - pl.col("start_ns")).alias("length"),
        )
    )
    return _bounded(told)


def _with_parents(ranges: pl.DataFrame) -> pl.DataFrame:
    """Add the length of the range around each; null for outermost and start/end ranges."""
    keys = ["lane", "group", "start_ns", "end_ns"]
    ordered = ranges.sort(keys, descending=[False, False, False, True])
    nests = ordered["push_pop"].to_numpy()
    depth = np.where(nests, ordered["depth"].to_numpy(), 0)
    around = parents(depth.astype(np.int64))
    length = ordered["length"].to_numpy()
    return ordered.with_columns(
        pl.when(pl.Series(around >= 0)).then(pl.Series(length[around])).alias("parent")
    )


def _bounded(ranges: pl.DataFrame) -> pl.DataFrame:
    """Put on one level what a row has no room for: deep ranges, and threads with little time."""
    ranges = ranges.with_columns(pl.col("depth").clip(upper_bound=_MOST_LEVELS - 1))
    row = ["row", "lane", "shown"]
    outermost = pl.col("length").filter(pl.col("depth") == 0).sum()
    groups = (
        ranges.group_by([*row, "group"])
        .agg((pl.col("depth").max() + 1).alias("levels"), outermost.alias("time"))
        .sort([*row, "time", "group"], descending=[False, False, False, True, False])
    )
    # The first has its place, however deep.
    before = (pl.col("levels").cum_sum() - pl.col("levels")).over(row)
    small = (before > 0) & (before + pl.col("levels") > _MOST_LEVELS)
    groups = groups.select(*row, "group", small.alias("small"))
    if not groups["small"].any():
        return ranges
    told = ranges.join(
        groups, on=[*row, "group"], how="left", nulls_equal=True, maintain_order="left"
    )
    together = pl.when(pl.col("small")).then(_SMALL_THREADS).otherwise(pl.col("group"))
    return told.with_columns(together.alias("group")).drop("small")


def heights(
    places: pl.DataFrame, rows: Sequence[Row]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Give each thread a part of the band, and inset the levels of a thread in it.

    Parameters
    ----------
    places : polars.DataFrame
        As of `LeveledRanges`, those that are drawn.
    rows : sequence of Row
        Rows with their place on the chart.

    Returns
    -------
    top, bottom : ndarray of float64
        By place.
    """
    groups = (
        places.group_by("row", "lane", "group", "shown")
        .agg((pl.col("depth").max() + 1).alias("levels"))
        .sort("row", "shown", "lane", "group", descending=[False, True, False, False])
    )
    # Hidden domains lie over the others when they are asked for: they take no room of theirs.
    part = groups.with_columns(
        (pl.col("levels").cum_sum() - pl.col("levels")).over("row", "shown").alias("before"),
        pl.col("levels").sum().over("row", "shown").alias("all"),
    )
    placed = places.join(
        part, on=["row", "lane", "group", "shown"], how="left", maintain_order="left"
    )
    tops = {row.row: row.top for row in rows}
    high = {row.row: row.bottom - row.top for row in rows}
    band_top = placed["row"].replace_strict(tops, return_dtype=pl.Float64).to_numpy()
    band = placed["row"].replace_strict(high, return_dtype=pl.Float64).to_numpy()
    levels, before, total = (placed[c].to_numpy() for c in ("levels", "before", "all"))
    own_top = band_top + band * before / total
    own = band * levels / total
    step = np.minimum(_INSET, _MOST_INSET / np.maximum(levels, 1))
    nested = placed["push_pop"].to_numpy()
    depth = placed["depth"].to_numpy()
    # Push/pop ranges nest, so they share their bottom; start/end ranges only lie side by side.
    top = np.where(nested, own_top + own * step * depth, own_top + own * depth / levels)
    bottom = np.where(nested, own_top + own, own_top + own * (depth + 1) / levels)
    return top, bottom

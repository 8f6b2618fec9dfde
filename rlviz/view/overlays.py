"""The ranges of the chart: NVTX overlays, nested ones inset, slivers merged."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rlviz.run.events import lookup
from rlviz.run.nesting import parents
from rlviz.run.rules import PHASES
from rlviz.view.palette import color_code
from rlviz.view.range_levels import RangeLevels
from rlviz.view.scene import Overlays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run
    from rlviz.view.scene import Row

    Int64 = NDArray[np.int64]

__all__ = ["HIDDEN_DOMAINS", "UNNAMED", "PlacedRanges", "colors_of_ranges", "draw_overlays"]

HIDDEN_DOMAINS = ("NCCL", "CCCL", "cuBLAS", "cuDNN", "CUDA")
"""Domains of libraries: a range for each of their calls, so they are off until asked for."""

UNNAMED = 2
"""Texts that a scene has behind the run's names: of the default domain and of unnamed threads."""

_OVERLAYS = 6_000
# A zoomed view is drawn anew at every move.
_OVERLAYS_OF_WINDOW = 2_000
# What may be drawn as one stands on one of these.
_LEVEL = ["row", "lane", "group", "depth", "shown"]
# No row is so high that more levels and threads could be told apart in a lane of it.
_MOST_LEVELS = 100
_SMALL_THREADS = -2  # the group of those for which there is no room
# A range inset in another leaves this much of the other's head free, as a share of the band.
_INSET = 0.2
_MOST_INSET = 0.6


def draw_overlays(
    run: Run, rows: Sequence[Row], view_ns: tuple[int, int], *, within: bool = False
) -> Overlays:
    """Draw the NVTX ranges of all rows.

    Parameters
    ----------
    run : Run
        The run.
    rows : sequence of Row
        Rows with their place on the chart.
    view_ns : (int, int)
        First view on the run's clock: ranges narrower than a pixel of it are merged.
    within : bool
        Draw only what reaches into the view: its short ranges are then not merged because of
        those elsewhere.

    Returns
    -------
    Overlays
        Long ranges exactly, neighbouring slivers of one level as one with their count.
    """
    ranges = _with_levels(run)
    if within:
        ranges = ranges.filter((pl.col("end_ns") > view_ns[0]) & (pl.col("start_ns") < view_ns[1]))
    drawn = _merged_to(ranges, (view_ns[1] - view_ns[0]) // 1_500, _OVERLAYS)
    return _drawn(len(run.events.names), drawn, *_heights(drawn, rows))


@dataclass(frozen=True)
class PlacedRanges:
    """The ranges of a run, each with the place that it has at any zoom.

    Parameters
    ----------
    names : int
        Names of the run when its chart was made: a run learns of more as it is asked for them.
    ranges : polars.DataFrame
        Its ranges with levels, `top` and `bottom`.
    """

    names: int
    ranges: pl.DataFrame

    @classmethod
    def of(cls, run: Run, rows: Sequence[Row], names: int) -> PlacedRanges:
        """Place all ranges on the rows of a chart that knows so many of the run's names."""
        ranges = _with_levels(run)
        top, bottom = _heights(ranges, rows)
        return cls(names, ranges.with_columns(top=pl.Series(top), bottom=pl.Series(bottom)))

    def all(self) -> Overlays:
        """Draw every range, none merged."""
        ranges = self.ranges.with_columns(pl.lit(1).alias("count"))
        ranges = ranges.sort("row", "start_ns", "depth")
        return _drawn(self.names, ranges, ranges["top"].to_numpy(), ranges["bottom"].to_numpy())

    def within(self, start_ns: int, end_ns: int, width_px: int) -> tuple[Overlays, int]:
        """Draw the ranges that reach into a window.

        Returns
        -------
        ranges : Overlays
            Those that are wider than a pixel exactly, neighbouring slivers as one.
        merged_ns : int
            Length below which ranges were merged; 0 where none was.
        """
        pixel_ns = (end_ns - start_ns) // width_px
        found, pixel_ns = self._levels.within(start_ns, end_ns, pixel_ns, _OVERLAYS_OF_WINDOW)
        column = {name: values[found.longest] for name, values in self._columns.items()}
        alone = found.count == 1
        parent, share = column.pop("parent"), np.full(len(found), np.nan)
        np.divide(found.longest_ns, parent, out=share, where=alone & (parent > 0))
        column |= {"left": found.start_ns / 1e9, "right": found.end_ns / 1e9, "parent_share": share}
        column |= {"count": found.count.astype(np.int32), "truncated": found.truncated}
        order = np.lexsort((column["depth"], found.start_ns, column["row"]))
        drawn = Overlays(**{name: values[order] for name, values in column.items()})
        return drawn, 0 if alone.all() else pixel_ns

    @property
    def used(self) -> NDArray[np.int32]:
        """Codes of the names of all ranges."""
        codes: NDArray[np.int32] = self._columns["name"]
        return codes

    def named(self, hit: NDArray[np.bool_], width_ns: int) -> dict[str, NDArray[Any]]:
        """Give the places of ranges by their names; neighbours that are narrower are one.

        Parameters
        ----------
        hit : ndarray of bool
            By code of a name, whether it is meant.
        width_ns : int
            Ranges of one level that are narrower, and no further apart, are one.
        """
        alone = self._levels.alone
        found = alone[np.flatnonzero(hit[self.used[alone.longest]])].to(width_ns)
        place = ("top", "bottom", "row", "domain", "shown")
        column = {name: self._columns[name][found.longest] for name in place}
        return {"left": found.start_ns / 1e9, "right": found.end_ns / 1e9, **column}

    def prepare(self) -> None:
        """Make what all windows share."""
        _ = self._levels, self._columns

    @cached_property
    def _levels(self) -> RangeLevels:
        levels = self.ranges.select(_LEVEL).unique().with_row_index("level")
        level = self.ranges.select(_LEVEL).join(
            levels, on=_LEVEL, how="left", nulls_equal=True, maintain_order="left"
        )["level"]
        start, end, truncated = (
            self.ranges[name].to_numpy() for name in ("start_ns", "end_ns", "truncated")
        )
        return RangeLevels(level.to_numpy().astype(np.int64), start, end, truncated)

    @cached_property
    def _columns(self) -> dict[str, NDArray[Any]]:
        """By number of a range, what does not change with the zoom."""
        drawn = _drawn(self.names, self.ranges.with_columns(count=1), *self._heights)
        kept = ("top", "bottom", "row", "name", "domain", "thread", "color", "depth", "shown")
        columns = {name: getattr(drawn, name) for name in kept}
        parent = self.ranges["parent"].cast(pl.Float64).fill_null(float("nan"))
        return columns | {"parent": parent.to_numpy()}

    @property
    def _heights(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        return self.ranges["top"].to_numpy(), self.ranges["bottom"].to_numpy()


def _merged_to(ranges: pl.DataFrame, pixel_ns: int, at_most: int) -> pl.DataFrame:
    """Merge slivers, wider ones if need be."""
    ordered = ranges.sort([*_LEVEL, "start_ns", "end_ns"])
    while True:
        begins = _begins(ordered, pixel_ns)
        # Some have no neighbour of their level, and no width merges them.
        if begins.sum() <= at_most or pixel_ns > 1 << 62:
            return _merge_slivers(ordered, begins)
        pixel_ns = max(2 * pixel_ns, 1)


def _with_levels(run: Run) -> pl.DataFrame:
    """Add to each range its colour, whether it is shown, its group of levels and its parent."""
    return run.remember("leveled_ranges", (), lambda: _leveled(run))


def colors_of_ranges(run: Run) -> pl.Series:
    """Give the colour of a range by the code of its name: that of the phase that it marks."""
    codes = {phase: color_code(phase) for phase in PHASES}
    phases = run.rules.phases_of(run.events.names)
    return phases.replace_strict(codes, default=color_code("range"), return_dtype=pl.Int32)


def _leveled(run: Run) -> pl.DataFrame:
    events = run.events
    ranges = events.ranges
    colors = colors_of_ranges(run)
    hidden = events.names.str.to_lowercase().is_in([d.lower() for d in HIDDEN_DOMAINS])
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


def _begins(ordered: pl.DataFrame, pixel_ns: int) -> pl.Series:
    """Tell of each range whether it does not merge with the one before it."""
    other = pl.any_horizontal(pl.col(name).ne_missing(pl.col(name).shift(1)) for name in _LEVEL)
    sliver = pl.col("length") < pixel_ns
    apart = (pl.col("start_ns") - pl.col("end_ns").shift(1)) > pixel_ns
    return ordered.select(
        (other | ~sliver | ~sliver.shift(1) | apart).fill_null(value=True)
    ).to_series()


def _merge_slivers(ordered: pl.DataFrame, begins: pl.Series) -> pl.DataFrame:
    """Merge neighbouring ranges into those that begin."""
    numbered = ordered.with_columns(begins.cum_sum().alias("cluster"))
    longest = pl.col("length").arg_max()
    merged = numbered.group_by("cluster", maintain_order=True).agg(
        *(pl.col(name).first() for name in _LEVEL),
        pl.col("start_ns").min(),
        pl.col("end_ns").max(),
        *(pl.col(c).get(longest) for c in ("name", "domain", "thread_name", "color")),
        pl.col("truncated").any(),
        pl.col("parent").first(),
        pl.len().alias("count"),
        pl.col("push_pop").first(),
        pl.col("length").sum(),
    )
    return merged.sort("row", "start_ns", "depth")


def _drawn(
    names: int, drawn: pl.DataFrame, top: NDArray[np.float64], bottom: NDArray[np.float64]
) -> Overlays:
    parent = drawn["parent"].cast(pl.Float64)
    share = pl.select(
        pl.when(drawn["count"] == 1).then(drawn["length"] / parent).otherwise(None)
    ).to_series()
    return Overlays(
        left=drawn["start_ns"].to_numpy() / 1e9,
        right=drawn["end_ns"].to_numpy() / 1e9,
        top=top,
        bottom=bottom,
        row=drawn["row"].to_numpy().astype(np.int32),
        name=drawn["name"].to_numpy().astype(np.int32),
        # The default domain and unnamed threads have texts of their own behind the run's names.
        domain=drawn["domain"].fill_null(names).to_numpy().astype(np.int32),
        thread=drawn["thread_name"].fill_null(names + 1).to_numpy().astype(np.int32),
        color=drawn["color"].to_numpy().astype(np.int32),
        depth=drawn["depth"].to_numpy().astype(np.int32),
        count=drawn["count"].to_numpy().astype(np.int32),
        truncated=drawn["truncated"].to_numpy(),
        parent_share=share.cast(pl.Float64).fill_null(float("nan")).to_numpy(),
        shown=drawn["shown"].to_numpy(),
    )


def _heights(drawn: pl.DataFrame, rows: Sequence[Row]) -> tuple[NDArray[np.float64], ...]:
    """Give each thread a part of the band, and inset the levels of a thread in it."""
    groups = (
        drawn.group_by("row", "lane", "group", "shown")
        .agg((pl.col("depth").max() + 1).alias("levels"))
        .sort("row", "shown", "lane", "group", descending=[False, True, False, False])
    )
    # Hidden domains lie over the others when they are asked for: they take no room of theirs.
    part = groups.with_columns(
        (pl.col("levels").cum_sum() - pl.col("levels")).over("row", "shown").alias("before"),
        pl.col("levels").sum().over("row", "shown").alias("all"),
    )
    placed = drawn.join(
        part, on=["row", "lane", "group", "shown"], how="left", maintain_order="left"
    )
    tops = {row.row: row.top for row in rows}
    heights = {row.row: row.bottom - row.top for row in rows}
    band_top = placed["row"].replace_strict(tops, return_dtype=pl.Float64).to_numpy()
    band = placed["row"].replace_strict(heights, return_dtype=pl.Float64).to_numpy()
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

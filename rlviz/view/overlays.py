"""The ranges of the chart: NVTX overlays, nested ones inset, slivers merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.view.leveled_ranges import heights, leveled_ranges
from rlviz.view.scene import Overlays

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rlviz.run.run import Run
    from rlviz.view.leveled_ranges import LeveledRanges
    from rlviz.view.merged_ranges import Merged
    from rlviz.view.scene import Row, Scene

    Floats = NDArray[np.float64]

__all__ = ["UNNAMED", "PlacedRanges", "draw_overlays"]

UNNAMED = ("default domain", "unnamed thread")
"""What a scene has behind the run's names, for ranges whose domain or thread has none."""

_OVERLAYS = 6_000
# A zoomed view is drawn anew at every move.
_OVERLAYS_OF_WINDOW = 2_000
_PIXELS = 1_500


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
        those elsewhere, and levels that it does not use take no room.

    Returns
    -------
    Overlays
        Long ranges exactly, neighbouring slivers of one level as one with their count.
    """
    ranges = leveled_ranges(run)
    window = view_ns if within else ranges.levels.hull
    pixel_ns = (view_ns[1] - view_ns[0]) // _PIXELS
    found, _ = ranges.levels.within(*window, pixel_ns, _OVERLAYS)
    used = np.unique(ranges.place[found.longest])
    own = heights(ranges.places[used], rows)
    edges = tuple(np.zeros(len(ranges.places)) for _ in own)
    for edge, values in zip(edges, own, strict=True):
        edge[used] = values
    return _drawn(found, ranges, edges, len(run.events.names))


@dataclass(frozen=True)
class PlacedRanges:
    """The ranges of a run, each with the place that it has at any zoom.

    Parameters
    ----------
    names : int
        Names that the chart has of the run: a run learns of more as it is asked for them.
    ranges : LeveledRanges
        Its ranges.
    edges : (ndarray, ndarray)
        Top and bottom of each place.
    """

    names: int
    ranges: LeveledRanges
    edges: tuple[Floats, Floats]

    @classmethod
    def of(cls, run: Run, scene: Scene) -> PlacedRanges:
        """Place all ranges on the rows of the run's chart."""
        ranges = leveled_ranges(run)
        return cls(len(scene.names) - len(UNNAMED), ranges, heights(ranges.places, scene.rows))

    def all(self) -> Overlays:
        """Draw every range, none merged."""
        return _drawn(self.ranges.levels.alone, self.ranges, self.edges, self.names)

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
        found, pixel_ns = self.ranges.levels.within(start_ns, end_ns, pixel_ns, _OVERLAYS_OF_WINDOW)
        drawn = _drawn(found, self.ranges, self.edges, self.names)
        return drawn, 0 if (found.count == 1).all() else pixel_ns

    def named(self, hit: NDArray[np.bool_], width_ns: int) -> Overlays:
        """Draw ranges by their names, in no order; neighbours that are narrower are one.

        Parameters
        ----------
        hit : ndarray of bool
            By code of a name, whether it is meant.
        width_ns : int
            Ranges of one level that are narrower, and no further apart, are one.
        """
        alone = self.ranges.levels.alone
        found = alone[np.flatnonzero(hit[self.ranges.name[alone.longest]])].to(width_ns)
        return _drawn(found, self.ranges, self.edges, self.names, in_order=False)


def _drawn(
    found: Merged,
    ranges: LeveledRanges,
    edges: tuple[Floats, ...],
    names: int,
    *,
    in_order: bool = True,
) -> Overlays:
    """Draw ranges, by row and start if they are to be in order."""
    own = found.longest
    place = ranges.place[own]
    row, depth, shown = (ranges.places[c].to_numpy()[place] for c in ("row", "depth", "shown"))
    domain, thread, parent_ns = ranges.domain[own], ranges.thread[own], ranges.parent_ns[own]
    share = np.full(len(found), np.nan)
    np.divide(found.longest_ns, parent_ns, out=share, where=(found.count == 1) & (parent_ns > 0))
    columns: dict[str, Any] = {
        "left": found.start_ns / 1e9,
        "right": found.end_ns / 1e9,
        "top": edges[0][place],
        "bottom": edges[1][place],
        "row": row.astype(np.int32),
        "name": ranges.name[own],
        # The default domain and unnamed threads have texts of their own behind the run's names.
        "domain": np.where(domain < 0, names, domain).astype(np.int32),
        "thread": np.where(thread < 0, names + 1, thread).astype(np.int32),
        "color": ranges.color[own],
        "depth": depth.astype(np.int32),
        "count": found.count.astype(np.int32),
        "truncated": found.truncated,
        "parent_share": share,
        "shown": shown,
    }
    if not in_order:
        return Overlays(**columns)
    order = np.lexsort((depth, found.start_ns, row))
    return Overlays(**{name: values[order] for name, values in columns.items()})

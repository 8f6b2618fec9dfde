"""Several runs on one clock, as a run that any zoom can be asked of."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rlviz.levels.query import ZoomableRun
from rlviz.run.events import lookup
from rlviz.run.story import Story

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


__all__ = ["Place", "SideBySide"]

_SHIFTED = ("start_ns", "end_ns", "window_start_ns", "window_end_ns")


class Place:
    """Where a run stands among others: what is added to its times, rows and lanes."""

    def __init__(self, name: str, shift_ns: int, row: int, lane: int) -> None:
        self.name = name
        self.shift_ns = shift_ns
        self.row = row
        self.lane = lane

    def moved(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Give a frame of the run with times, rows and lanes as they are among the others."""
        by = {"row": self.row, "lane": self.lane, **dict.fromkeys(_SHIFTED, self.shift_ns)}
        return frame.with_columns(
            (pl.col(c) + shift).cast(frame.schema[c])
            for c, shift in by.items()
            if c in frame.columns
        )


class SideBySide(ZoomableRun):
    """Runs below each other, each moved in time so that a moment of its own is second 0.

    Its rows, tracks and ranges are those of the runs; numbers, phases and findings are asked of
    each run by itself.

    Parameters
    ----------
    runs : mapping of str to ZoomableRun
        The runs by name. What names mean is asked of the first run's rules.
    zeros_ns : mapping of str to int
        On each run's clock, what is second 0 here.
    """

    def __init__(self, runs: Mapping[str, ZoomableRun], zeros_ns: Mapping[str, int]) -> None:
        self.runs: dict[str, ZoomableRun] = dict(runs)
        self.places: dict[str, Place] = {}
        row = lane = 0
        for name, run in runs.items():
            self.places[name] = Place(name, -zeros_ns[name], row, lane)
            row += _past(run.rows["row"])
            lane += _past(run.rows["lane"])
        pairs = [(self.places[name], run) for name, run in runs.items()]
        rows = [
            place.moved(run.rows).with_columns(pl.lit(place.name).alias("group"))
            for place, run in pairs
        ]
        named = pl.concat_str(pl.lit(""), pl.col("report"))
        first = next(iter(runs.values()))
        super().__init__(
            start_utc_ns=None,
            clock="; ".join(f"{name}: {run.clock}" for name, run in runs.items()),
            simulated=any(run.simulated for run in runs.values()),
            reports=pl.concat([place.moved(run.reports) for place, run in pairs]),
            rows=pl.concat(rows),
            diagnostics=pl.concat(
                [
                    run.diagnostics.with_columns(
                        (pl.lit(f"{place.name}: ") + named).alias("report")
                    )
                    for place, run in pairs
                ]
            ),
            events=_Events(pairs),  # type: ignore[arg-type]
            rules=first.rules,
            story=Story(),
            phases=pl.concat([place.moved(run.phases()) for place, run in pairs]),
        )


class _Events:
    """Events of several runs, in one table of names."""

    def __init__(self, pairs: Sequence[tuple[Place, ZoomableRun]]) -> None:
        codes: dict[str, int] = {}
        self.recodes: dict[str, pl.Series] = {}
        for place, run in pairs:
            own = [codes.setdefault(name, len(codes)) for name in run.events.names]
            self.recodes[place.name] = pl.Series(own, dtype=pl.Int32)
        self.names = pl.Series("name", list(codes), dtype=pl.String)
        self.workers: tuple[int, ...] = ()
        for _, run in pairs:
            more = max(self.workers, default=-1) + 1
            self.workers += tuple(worker + more for worker in run.events.workers)
        self.parts = tuple(
            replace(
                part,
                row=part.row + place.row,
                lane=part.lane + place.lane,
                offset_ns=part.offset_ns + place.shift_ns,
                recode=self.recodes[place.name].to_numpy()[part.recode],
            )
            for place, run in pairs
            for part in run.events.parts
        )
        self.ranges = self._joined(pairs, "ranges")
        self.marks = self._joined(pairs, "marks")

    def texts(self, codes: pl.Series) -> pl.Series:
        """Look codes up in `names`; null stays null."""
        return lookup(self.names, codes)

    def _joined(self, pairs: Sequence[tuple[Place, ZoomableRun]], kind: str) -> pl.DataFrame:
        parts = []
        for place, run in pairs:
            frame: pl.DataFrame = getattr(run.events, kind)
            recode = self.recodes[place.name]
            coded = [c for c in ("name", "domain", "thread_name") if c in frame.columns]
            parts.append(place.moved(frame.with_columns(lookup(recode, frame[c]) for c in coded)))
        return pl.concat(parts, how="diagonal_relaxed")


def _past(numbers: pl.Series) -> int:
    last = numbers.max()
    return last + 1 if isinstance(last, int) else 0

"""What is said of runs that are compared: the headline, and a heading for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rlviz.view.headline import bubble_shares, spoken_of
from rlviz.view.units import seconds_text, unit_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rlviz.run.run import Run

__all__ = ["heading_of", "headline_of"]

_TOLD = {
    "exposed_generation_ns": "exposed generation",
    "overlap_ns": "overlap",
    "tail_ns": "tail",
    "refit_ns": "refit",
}
_POOL_OF_WHOLE = ("generation", "colocated", "training")
# A headline names what changed; what changed by less is in the frame of differences.
_WORTH_TELLING = 0.01
_MOST_TOLD = 4


def headline_of(runs: Mapping[str, Run], iteration: int | None) -> str:
    """Say what became of the iteration, from the first run to the last, and of its parts.

    Parameters
    ----------
    runs : mapping of str to Run
        The runs by name.
    iteration : int or None
        The iteration to speak of; None for means over the complete ones of each run.

    Examples
    --------
    >>> headline_of({"before": before, "after": after}, 4)  # doctest: +SKIP
    'Iteration 4 is 5.4 s shorter: 36.1 → 30.6 s · exposed generation 4.68 → 2.98 s · ...'
    """
    numbers = [_numbers(run, iteration) for run in runs.values()]
    which = "Mean iteration" if iteration is None else f"Iteration {iteration}"
    durations = [own.get("duration") for own in numbers]
    first, last = durations[0], durations[-1]
    if first is None or last is None:
        head = f"{which}: its length is unknown in a run"
    else:
        change = last - first
        word = "shorter" if change < 0 else "longer"
        size = f"{seconds_text(abs(change))} {word}" if change else "as long"
        head = f"{which} is {size}: {_series(durations)}"
    changed = []
    for name in dict.fromkeys(key for own in numbers for key in own if key != "duration"):
        values = [own.get(name) for own in numbers]
        before, after = values[0], values[-1]
        if before is None or after is None:
            continue
        weight = abs(after - before) / max(first or 0.0, 1.0)
        if weight >= _WORTH_TELLING:
            changed.append((name, weight, f"{name} {_series(values)}"))
    kept = [name for name, _, _ in sorted(changed, key=lambda one: -one[1])[:_MOST_TOLD]]
    # What the person waits for comes first, then as they are listed.
    return " · ".join([head, *(text for name, _, text in changed if name in kept)])


def heading_of(name: str, run: Run, iteration: int | None) -> str:
    """Name a run and tell its numbers: "before: iteration 4, 36.1 s · exposed generation ..."."""
    own = spoken_of(run, iteration)
    numbers = _numbers(run, iteration)
    count = own["iteration"].n_unique()
    which = f"mean of {count} iterations" if iteration is None else f"iteration {iteration}"
    if iteration is not None and own["partial"].any():
        which += " (partial)"
    duration = numbers.get("duration")
    parts = [f"{name}: {which}" + ("" if duration is None else f", {seconds_text(duration)}")]
    parts += [
        f"{label} {seconds_text(value)}"
        for label in ("exposed generation", "tail")
        if (value := numbers.get(label)) is not None
    ]
    return " · ".join(filter(None, [*parts, bubble_shares(own)]))


def _numbers(run: Run, iteration: int | None) -> dict[str, float]:
    """Give what is known of the iteration as a whole, in ns: of a mean, what all of them tell."""
    own = spoken_of(run, iteration)
    pool = next((p for p in _POOL_OF_WHOLE if (own["pool"] == p).any()), None)
    own = own.filter(pl.col("pool") == pool)
    found = {}
    for column, label in {"duration_ns": "duration", **_TOLD}.items():
        if len(own) and not own[column].null_count():
            found[label] = float(own[column].sum()) / len(own)
    return found


def _series(values_ns: list[float | None]) -> str:
    """Write lengths with arrows between them, in one unit: "36.1 → 30.6 s"."""
    known = [value for value in values_ns if value is not None]
    unit, scale, digits = unit_of(max(known))
    texts = ["?" if v is None else f"{v / scale:.{digits}f}" for v in values_ns]
    return f"{' → '.join(texts)} {unit}"

"""What a chart shows, in words: for who does not see it, and for who looks for the page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlviz.run.words import counted

if TYPE_CHECKING:
    from rlviz.view.scene import Scene

__all__ = ["description_of"]

_EXPECTED = ("overlap", "exposed generation", "bubbles")


def description_of(scene: Scene) -> str:
    """Say in some sentences what the chart shows: the run, its numbers, its rows.

    Parameters
    ----------
    scene : Scene
        The chart.

    Returns
    -------
    str
        As hostile as the scene's texts are.
    """
    said = [scene.title, scene.subtitle, *_unknown(scene), _rows(scene)]
    if scene.simulated:
        said.append("Simulated run, no measurement")
    return " ".join(f"{one}." for one in said if one)


def _unknown(scene: Scene) -> list[str]:
    """Name the numbers that a run with iterations has, but this one does not know."""
    if scene.numbers is None:
        return []
    unknown = [name for name in _EXPECTED if name not in scene.subtitle]
    return [f"Unknown: {', '.join(unknown)}"] if unknown else []


def _rows(scene: Scene) -> str:
    pools: dict[str, list[bool]] = {}
    for row in scene.rows:
        pools.setdefault(row.pool, []).append(row.gpu_data)
    parts = []
    for pool, known in pools.items():
        unknown = known.count(False)
        without = f", {unknown} without GPU data" if unknown else ""
        parts.append(f"{pool} {len(known)}{without}")
    length = f"{scene.end_s - scene.start_s:.3g} s"
    return f"{counted(len(scene.rows), 'row')} over {length}: {'; '.join(parts)}" if parts else ""

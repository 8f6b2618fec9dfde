"""What a reader of the chart can choose: rows by role, NVTX domains, what colours mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from rlviz.levels.groups import KINDS
from rlviz.view.legible import legible
from rlviz.view.palette import COLOR_OF_ACTIVITY, COLORS, KERNELS, LABELS, OTHER_KERNELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rlviz.levels.strip import Facet
    from rlviz.view.scene import Row, Scene

    UInt8 = NDArray[np.uint8]

__all__ = [
    "COLOR_BY",
    "SHADES",
    "ColorBy",
    "coloring",
    "domains",
    "facet_of",
    "legend",
    "role_of",
    "roles",
]

ColorBy: TypeAlias = Literal["phase", "kind", "kernel"]
COLOR_BY: tuple[ColorBy, ...] = get_args(ColorBy)

_FACETS: dict[ColorBy, Facet] = {"phase": "code", "kind": "kind", "kernel": "group"}

SHADES = {
    "not_captured": "not captured",
    "edge": "profiler edge",
    "no_gpu_data": "no GPU data",
    "reading": "being read",
}


def role_of(row: Row) -> str:
    """Tell what a row is for, as a word to choose it by."""
    return legible(row.role or row.pool)


def roles(scene: Scene) -> list[str]:
    """List the roles of the rows, in the order of the rows."""
    return list(dict.fromkeys(role_of(row) for row in scene.rows))


def domains(scene: Scene) -> list[tuple[int, bool]]:
    """List the NVTX domains as codes of names, and whether each is shown at first.

    Where there is one domain, and it is shown, there is nothing to choose.
    """
    overlays = scene.overlays
    shown = set(overlays.domain[overlays.shown].tolist())
    found = [(int(code), int(code) in shown) for code in np.unique(overlays.domain)]
    return found if len(found) > 1 or not all(shown for _, shown in found) else []


def coloring(scene: Scene) -> dict[str, dict[str, Any]]:
    """Tell what the chart's colours are by phase, by kind and by kernel.

    Returns
    -------
    dict
        By `COLOR_BY`: ``palette``, CSS colours, and ``legend``, entries as of `legend`. By kernel
        also ``names``, the name codes of the colours but the last, which is of all others; its
        legend has a code as ``name`` in place of a label.
    """
    kernels = list(zip(scene.kernels, KERNELS, strict=False))
    # By code: names travel once. Any of them may be the longest of a window.
    named: list[dict[str, Any]] = [
        {"kind": "color", "color": color, "name": code} for code, color in kernels
    ]
    if not set(np.unique(scene.bars.name).tolist()) <= set(scene.kernels):
        named.append(_entry("color", "other kernels and copies", OTHER_KERNELS))
    kinds = [KINDS[kind] for kind in np.unique(scene.bars.kind)]
    return {
        "phase": {
            "palette": [COLORS[key] for key in scene.colors],
            "legend": legend(scene),
        },
        "kind": {
            "palette": [COLORS[key] for key in KINDS],
            "legend": [_entry("color", LABELS[k], COLORS[k]) for k in kinds]
            + _besides_activity(scene),
        },
        "kernel": {
            "palette": [*(color for _, color in kernels), OTHER_KERNELS],
            "names": [code for code, _ in kernels],
            "legend": named + _besides_activity(scene),
        },
    }


def facet_of(scene: Scene, color_by: ColorBy) -> tuple[Facet, UInt8]:
    """Tell what to ask of a run for a colour mode, and what colours the answers stand for.

    Parameters
    ----------
    scene : Scene
        The chart.
    color_by : {"phase", "kind", "kernel"}
        What its colours mean.

    Returns
    -------
    facet : {"code", "kind", "group"}
        For ``run.view``.
    colors : ndarray of uint8, shape (256,)
        By the byte that a facet gives, the place in the palette of `coloring`; `NOTHING`, which
        is what takes no time, has a colour, too.
    """
    if color_by == "phase":
        colors = COLOR_OF_ACTIVITY
    elif color_by == "kind":
        colors = np.zeros(256, np.uint8)
        colors[: len(KINDS)] = np.arange(len(KINDS))
    else:
        # Behind the kernels that have a colour of their own come groups of all others.
        last = min(len(scene.kernels), len(KERNELS))
        colors = np.minimum(np.arange(256), last).astype(np.uint8)
    return _FACETS[color_by], colors


def legend(scene: Scene) -> list[dict[str, str]]:
    """List what the chart's colours and patterns mean by phase, and only those that it uses.

    Returns
    -------
    list of dict
        `kind` (color, range, idle, or a kind of shade), `color` (CSS, may be empty), `label`.
    """
    solid = np.union1d(scene.bars.color, np.array(scene.activity, np.int32))
    bare = np.setdiff1d(scene.overlays.color[scene.overlays.shown], solid)
    outlined = [scene.colors[code] for code in bare]
    entries = [
        _entry("color", LABELS[key], COLORS[key]) for key in (scene.colors[code] for code in solid)
    ]
    entries += [_entry("range", LABELS[key], COLORS[key]) for key in outlined if key != "range"]
    return entries + _besides_activity(scene)


def _besides_activity(scene: Scene) -> list[dict[str, str]]:
    """List what is no activity: idle time, shades, ranges."""
    entries = [_entry("idle", "idle")] if scene.rows else []
    kinds = {shade.kind for shade in scene.shades}
    entries += [_entry(kind, label) for kind, label in SHADES.items() if kind in kinds]
    if scene.overlays.shown.any():
        entries.append(_entry("range", LABELS["range"], COLORS["range"]))
    return entries


def _entry(kind: str, label: str, color: str = "") -> dict[str, str]:
    return {"kind": kind, "color": color, "label": label}

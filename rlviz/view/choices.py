"""What a reader of the chart can choose: rows by role, NVTX domains, what colours mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rlviz.levels.groups import KINDS
from rlviz.view.legible import legible
from rlviz.view.palette import COLORS, KERNELS, LABELS, OTHER_KERNELS

if TYPE_CHECKING:
    from rlviz.view.scene import Row, Scene

__all__ = ["COLOR_BY", "coloring", "domains", "legend", "role_of", "roles"]

COLOR_BY = ("phase", "kind", "kernel")

SHADES = {
    "not_captured": "not captured",
    "edge": "profiler edge",
    "no_gpu_data": "no GPU data",
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
        legend has a code as ``name`` in place of a label. By kind also ``of_color``, the kind of
        each colour by phase, None where a phase does not tell it.
    """
    used = np.unique(scene.bars.name)
    kernels = [(code, color) for code, color in zip(scene.kernels, KERNELS, strict=False)]
    # By code: names travel once.
    named: list[dict[str, Any]] = [
        {"kind": "color", "color": color, "name": code} for code, color in kernels if code in used
    ]
    if not set(used.tolist()) <= set(scene.kernels):
        named.append(_entry("color", "other kernels and copies", OTHER_KERNELS))
    kinds = [KINDS[kind] for kind in np.unique(scene.bars.kind)]
    return {
        "phase": {
            "palette": [COLORS[key] for key in scene.colors],
            "legend": legend(scene),
        },
        "kind": {
            "palette": [COLORS[key] for key in KINDS],
            "legend": [_entry("color", LABELS[k], COLORS[k]) for k in kinds] + _marks(scene),
            "of_color": None if "graph" in kinds else [_kind_of(key) for key in scene.colors],
        },
        "kernel": {
            "palette": [*(color for _, color in kernels), OTHER_KERNELS],
            "names": [code for code, _ in kernels],
            "legend": named + _marks(scene),
        },
    }


def _kind_of(color: str) -> int:
    kind = {"communication": "communication", "refit": "communication", "copy": "copy"}
    return KINDS.index(kind.get(color, "compute"))


def legend(scene: Scene) -> list[dict[str, str]]:
    """List what the chart's colours and patterns mean by phase, and only those that it uses.

    Returns
    -------
    list of dict
        `kind` (color, range, idle, or a kind of shade), `color` (CSS, may be empty), `label`.
    """
    solid = np.unique(scene.bars.color)
    bare = np.setdiff1d(scene.overlays.color[scene.overlays.shown], solid)
    outlined = [scene.colors[code] for code in bare]
    entries = [
        _entry("color", LABELS[key], COLORS[key]) for key in (scene.colors[code] for code in solid)
    ]
    entries += [_entry("range", LABELS[key], COLORS[key]) for key in outlined if key != "range"]
    return entries + _marks(scene)


def _marks(scene: Scene) -> list[dict[str, str]]:
    """List what is no activity: idle time, shades, ranges."""
    entries = [_entry("idle", "idle")] if scene.rows else []
    kinds = {shade.kind for shade in scene.shades}
    entries += [_entry(kind, label) for kind, label in SHADES.items() if kind in kinds]
    if scene.overlays.shown.any():
        entries.append(_entry("range", LABELS["range"], COLORS["range"]))
    return entries


def _entry(kind: str, label: str, color: str = "") -> dict[str, str]:
    return {"kind": kind, "color": color, "label": label}

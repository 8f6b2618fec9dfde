"""The one place that decides what a colour is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rlviz.run.phases import ACTIVITY

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "CALLS",
    "COLORS",
    "COLOR_OF_ACTIVITY",
    "KERNELS",
    "LABELS",
    "OTHER_KERNELS",
    "SURFACE",
    "Theme",
    "color_code",
]

Theme = Literal["light", "dark", "print"]

# Okabe and Ito's palette for colour-blind readers (https://jfly.uni-koeln.de/color/).
COLORS: dict[str, str] = {
    "generation": "#56b4e9",
    "logprobs": "#009e73",
    "training": "#e69f00",
    "refit": "#cc79a7",
    "reward": "#d55e00",
    "communication": "#0072b2",
    "copy": "#999999",
    "graph": "#7f5fa8",
    "compute": "#4f9fa8",
    "other": "#8a8f98",
    "range": "#5f6b7a",
}

LABELS: dict[str, str] = {
    "generation": "generation",
    "logprobs": "logprobs",
    "training": "training",
    "refit": "refit",
    "reward": "reward",
    "communication": "communication",
    "copy": "copy",
    "graph": "graph launch",
    "compute": "compute",
    "other": "other",
    "range": "NVTX range",
}

# Chosen so that the closest two, the grey of all others included, are as far apart as can be, in
# normal sight as in protanopia and deuteranopia.
KERNELS = (
    "#03819f",
    "#e4c414",
    "#8a301b",
    "#4006fd",
    "#04b7fe",
    "#bfc87b",
    "#0d4f9e",
    "#7d384b",
    "#1275f4",
    "#8d8b00",
)
OTHER_KERNELS = "#b4b8be"

# CUDA calls, in lanes of their own: of the colours for kernels those that are furthest apart.
CALLS: dict[str, str] = {
    "launch": "#03819f",
    "sync": "#8a301b",
    "copy": "#999999",
    "memory": "#8d8b00",
    "other": "#b4b8be",
}

# Surfaces and ink of the chart itself, a set a theme.
SURFACE: dict[Theme, dict[str, str]] = {
    "light": {
        "page": "#ffffff",
        "band": "#f6f7f9",
        "ink": "#1c1e21",
        "muted": "#6b7280",
        "grid": "#e5e7eb",
        "shade": "#d1d5db",
        "boundary": "#9ca3af",
        "generation": "#1f6f9f",
        "training": "#8a5a00",
        "colocated": "#00664c",
        "refit": "#a14e7f",
        "alert": "#b00020",
    },
    "dark": {
        "page": "#111318",
        "band": "#1a1d24",
        "ink": "#e6e8eb",
        "muted": "#9aa1ab",
        "grid": "#2b2f37",
        "shade": "#3a3f49",
        "boundary": "#6b7280",
        "generation": "#7cc7f0",
        "training": "#f0b43c",
        "colocated": "#3cc79a",
        "refit": "#e39cc4",
        "alert": "#ff7a85",
    },
    "print": {
        "page": "#ffffff",
        "band": "#ffffff",
        "ink": "#000000",
        "muted": "#444444",
        "grid": "#dddddd",
        "shade": "#bbbbbb",
        "boundary": "#777777",
        "generation": "#1f6f9f",
        "training": "#8a5a00",
        "colocated": "#00664c",
        "refit": "#a14e7f",
        "alert": "#a00000",
    },
}


def color_code(key: str) -> int:
    """Give the code that scenes use for a colour: its place in `COLORS`.

    Examples
    --------
    >>> color_code("generation")
    0
    """
    return list(COLORS).index(key)


def _colors_of_activity() -> NDArray[np.uint8]:
    colors = np.full(256, color_code("other"), np.uint8)
    colors[: len(ACTIVITY)] = [color_code(key) for key in ACTIVITY]
    colors.setflags(write=False)
    return colors


COLOR_OF_ACTIVITY = _colors_of_activity()
"""By the byte that stands for an activity, the code of its colour; what is none has one, too."""

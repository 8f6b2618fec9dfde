"""Which property of which model takes which colour of the theme.

The lens recolours a chart without asking Python, so the pairs travel with the document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rlviz.view.palette import SURFACE

if TYPE_CHECKING:
    from bokeh.model import Model

    from rlviz.view.palette import Theme

__all__ = ["Paint"]


class Paint:
    """Colour models by the names of `SURFACE`, and remember what was coloured.

    Parameters
    ----------
    theme : {"light", "dark", "print"}
        The theme that the models are given now.
    """

    def __init__(self, theme: Theme) -> None:
        self.theme = theme
        self.done: list[tuple[str, str, str]] = []

    def __call__(self, model: Model, **keys: str) -> None:
        """Set each property of `keys` on `model` to the colour its key has in the theme."""
        for name, key in keys.items():
            color: Any = SURFACE[self.theme][key]
            setattr(model, name, color)
            self.done.append((model.id, name, key))

"""The figure of a cell for readers without a kernel: a still, and a page that takes its place."""

from __future__ import annotations

import base64
import html
from functools import cache
from importlib.resources import files
from io import BytesIO
from typing import TYPE_CHECKING

from rlviz.view.held import Held, hold
from rlviz.view.legible import legible
from rlviz.view.packed import packed
from rlviz.view.page import page

if TYPE_CHECKING:
    from rlviz.levels.query import ZoomableRun
    from rlviz.view.scene import Scene

__all__ = ["rich_output"]

# Of the output in a saved notebook: leaves 0.1 MB of 1.5 for everything else in it.
_LIMIT_MB = 1.4

# The output holds the still twice, and what it takes the page does not have.
_STILL_KB = 160

# No event takes less in a page, so that a run which cannot fit is not packed in vain.
_LEAST_BYTES_PER_EVENT = 2

_LEFT_OUT = (
    "To keep the notebook small, this figure leaves out single GPU events and exact ranges: "
    'timeline.save("timeline.html") writes a page that holds them.'
)

# Text of a script that is no JavaScript is inert; renderers that allow no scripts drop it whole.
_OUTPUT = """<div class="rlviz-still" data-rlviz-still="{key}">\
<img src="data:image/png;base64,{png}" alt="{alt}" style="max-width: 100%; height: auto">
<script type="text/plain" class="rlviz-packed">{packed}</script>
<script>{script}</script>
</div>"""


def rich_output(
    run: ZoomableRun | None, scene: Scene, still_png: bytes, key: str
) -> dict[str, str]:
    """Give the figure as a cell's output, by MIME type.

    Parameters
    ----------
    run : ZoomableRun or None
        The run; None where all there is is on the chart.
    scene : Scene
        Its chart.
    still_png : bytes
        The still: what is seen where no JavaScript runs, such as on GitHub.
    key : str
        Of the widget that hides the output while it is live; letters and digits.

    Returns
    -------
    dict of str to str
        ``text/html``: the still, and the packed page that takes its place where JavaScript may run,
        in a frame that can reach nothing around it. ``image/png``: the still alone.
    """
    png = base64.b64encode(_small(still_png)).decode()
    room = _LIMIT_MB * 1e6 - 2 * len(png)
    shown = packed(page(scene, held=None if run is None else Held(None, _LEFT_OUT)).encode())
    budget = room - len(shown)
    if (
        run is not None
        and sum(len(t) for t in run.tracks.values()) * _LEAST_BYTES_PER_EVENT < budget
    ):
        held = hold(run, scene, budget / 1e6)
        if held.json is not None:
            whole = packed(page(scene, held=held).encode())
            shown = whole if len(whole) <= room else shown
    alt = html.escape(legible(scene.title) or "Timeline of the run")
    output = _OUTPUT.format(key=key, png=png, alt=alt, packed=shown, script=_script())
    return {"text/html": output, "image/png": png}


def _small(still_png: bytes) -> bytes:
    """Give a picture in 256 colours, and with fewer pixels where it is still too large."""
    from PIL import Image  # comes with matplotlib, and draws the stills

    whole = Image.open(BytesIO(still_png)).convert("RGB")
    scale = 1.0
    while True:
        width, height = (round(side * scale) for side in whole.size)
        made = whole if scale == 1.0 else whole.resize((width, height))
        file = BytesIO()
        made.quantize(256, dither=Image.Dither.NONE).save(file, "png", optimize=True)
        if file.tell() <= _STILL_KB * 1000 or width < 600:
            return file.getvalue()
        scale *= 0.8


@cache
def _script() -> str:
    return (files("rlviz.view") / "js" / "rich.js").read_text(encoding="utf-8")

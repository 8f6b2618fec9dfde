"""What travels to the browser: the figure as Bokeh's JSON, and the facts that the lens tells.

The columns of marks travel inside the figure, compressed and binary. Names are sent once, by
the codes that point to them, and only after `legible` has looked at them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import bokeh
import numpy as np
from bokeh.core.json_encoder import serialize_json
from bokeh.document import Document

from rlviz.view.choices import coloring, domains, role_of, roles
from rlviz.view.description import description_of
from rlviz.view.figure import draw
from rlviz.view.legible import legible
from rlviz.view.numbers import number_facts
from rlviz.view.palette import LABELS, SURFACE
from rlviz.view.sizes import FONT, font_px, row_height_px
from rlviz.view.trust import trust_facts
from rlviz.view.windows import limits, window

if TYPE_CHECKING:
    from bokeh.model import Model

    from rlviz.run.run import Run
    from rlviz.view.figure import Drawing
    from rlviz.view.palette import Theme
    from rlviz.view.scene import Alignment, Scene

__all__ = ["LONGEST_TEXT", "Payload", "notebook_payload", "payload"]

LONGEST_TEXT = 500
"""Longest line of text above or below a chart."""


@dataclass(frozen=True)
class Payload:
    """A chart for the browser.

    Parameters
    ----------
    item : str
        JSON for ``Bokeh.embed.embed_item``.
    facts : str
        JSON for the lens.
    """

    item: str
    facts: str


def payload(scene: Scene, theme: Theme = "light", *, toolbar: bool = True) -> Payload:
    """Draw `scene` and write it down for the browser.

    Parameters
    ----------
    scene : Scene
        What to draw.
    theme : {"light", "dark", "print"}
        The colours to begin with.
    toolbar : bool
        Whether the chart has controls of its own; a notebook has others.
    """
    drawing = draw(scene, theme)
    facts = _facts(scene, drawing) | {"toolbar": toolbar}
    text = json.dumps(facts, allow_nan=False, separators=(",", ":"))
    # Bokeh's own encoder: it writes arrays as compressed base64 and no NaN as a bare word.
    return Payload(serialize_json(_item(drawing.root)), text)


def _item(root: Model) -> dict[str, Any]:
    """Give what ``bokeh.embed.json_item`` gives, which would check the document twice."""
    document = Document(title="")
    document.add_root(root)
    written = document.to_json(deferred=False)
    return {
        "target_id": None,
        "root_id": root.id,
        "doc": written,
        "version": bokeh.__version__,
    }


def notebook_payload(run: Run, scene: Scene) -> Payload:
    """Give the payload of a chart in a notebook; that of the run's own scene is remembered.

    Parameters
    ----------
    run : Run
        The run.
    scene : Scene
        Its scene, or another that was made of it.
    """
    if not run.is_remembered("scene", scene):
        return payload(scene, toolbar=False)
    # Another version of Bokeh reads other JSON.
    name = f"payload-{bokeh.__version__}"
    return run.remember(name, (Payload,), lambda: payload(scene, toolbar=False))


def _facts(scene: Scene, drawing: Drawing) -> dict[str, Any]:
    row_px = row_height_px(len(scene.rows))
    utc = scene.run_start_utc_ns
    return {
        "title": legible(scene.title, LONGEST_TEXT),
        "subtitle": legible(scene.subtitle, LONGEST_TEXT),
        "caption": legible(scene.caption, LONGEST_TEXT),
        "description": legible(description_of(scene), LONGEST_TEXT),
        "notes": [legible(note, LONGEST_TEXT) for note in scene.notes],
        "simulated": scene.simulated,
        "window": window(scene.start_s, scene.end_s),
        "limits": limits(scene),
        # As text: JavaScript's numbers hold no nanoseconds of UTC.
        "utc": None if utc is None else str(utc),
        "height": scene.height,
        "row_px": row_px,
        "label_px": font_px(row_px, largest=10),
        "left_px": drawing.left_px,
        "right_px": drawing.right_px,
        "font": FONT,
        "names": _names(scene),
        "colors": [LABELS[key] for key in scene.colors],
        "rows": _rows(scene),
        "pools": [
            {
                "name": pool.name,
                "top": pool.top,
                "bottom": pool.bottom,
                "group": legible(pool.group),
            }
            for pool in scene.pools
        ],
        "shades": [
            {"row": s.row, "left": s.left, "right": s.right, "kind": s.kind} for s in scene.shades
        ],
        "brackets": [
            {
                "pool": b.pool,
                "left": b.left,
                "right": b.right,
                "y": b.y,
                "text": legible(b.text),
                "group": legible(b.group),
            }
            for b in scene.brackets
        ],
        "lines": [
            {"at": line.at, "text": legible(line.text), "group": legible(line.group)}
            for line in sorted(scene.lines, key=lambda line: line.at)
        ],
        "bubbles": [
            {**vars(bubble), "texts": [legible(text) for text in bubble.texts]}
            for bubble in scene.bubbles
        ],
        "strips": [legible(strip.group) for strip in scene.overview],
        "headings": [
            {"y": heading.y, "text": legible(heading.text, LONGEST_TEXT)}
            for heading in scene.headings
        ],
        "iterations": scene.iterations,
        "alignments": [_alignment(scene, alignment) for alignment in scene.alignments],
        "roles": roles(scene),
        "domains": [{"code": code, "shown": shown} for code, shown in domains(scene)],
        "coloring": coloring(scene),
        "remarks": [
            {
                **vars(remark),
                "text": legible(remark.text, LONGEST_TEXT),
                "group": legible(remark.group),
            }
            for remark in scene.remarks
        ],
        "trust": trust_facts(scene.trust),
        "numbers": number_facts(scene.numbers),
        "surface": {"light": SURFACE["light"], "dark": SURFACE["dark"]},
        "paint": drawing.paint.done,
    }


def _alignment(scene: Scene, own: Alignment) -> dict[str, Any]:
    drawn = replace(scene, subtitle=own.subtitle, start_s=own.view[0], end_s=own.view[1])
    return {
        "iteration": own.iteration,
        "window": window(*own.view),
        "limits": limits(replace(drawn, first_s=own.limits[0], last_s=own.limits[1])),
        "shifts": {legible(group): shift_s for group, shift_s in own.shifts_s.items()},
        "told": own.told,
        "subtitle": legible(own.subtitle, LONGEST_TEXT),
        "description": legible(description_of(drawn), LONGEST_TEXT),
        "headings": [legible(text, LONGEST_TEXT) for text in own.headings],
    }


def _names(scene: Scene) -> dict[int, str]:
    """Give the names that marks use, by their code; the others may be a million."""
    overlays = scene.overlays
    kernels = np.array(scene.kernels, np.int32)
    codes = (scene.bars.name, overlays.name, overlays.domain, overlays.thread, kernels)
    used = np.unique(np.concatenate(codes)).tolist()
    return {code: legible(scene.names[code]) for code in used}


def _rows(scene: Scene) -> list[dict[str, Any]]:
    return [
        {
            "row": row.row,
            "top": row.top,
            "bottom": row.bottom,
            "label": legible(row.label),
            "host": legible(row.host),
            "pool": row.pool,
            "group": legible(row.group),
            "role": role_of(row),
            "busy": row.busy_share,
            "details": {legible(key): legible(value) for key, value in row.details.items()},
        }
        for row in scene.rows
    ]

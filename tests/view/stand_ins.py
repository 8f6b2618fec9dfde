"""Timelines of a scene that no run was composed to."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rlviz.view.timeline import Timeline

if TYPE_CHECKING:
    from rlviz.view.scene import Scene

__all__ = ["timeline_of"]


def timeline_of(scene: Scene, **run: Any) -> Timeline:
    """Give a timeline of a scene; `run` is what else its run is asked for."""
    has = {"reports": range(12), "tracks": {}, "is_remembered": lambda *_: False}
    timeline = Timeline(SimpleNamespace(**(has | run)))  # type: ignore[arg-type]
    timeline.__dict__["scene"] = scene
    return timeline

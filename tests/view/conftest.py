"""What tests of the view share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rlviz.view.detail import Detail

if TYPE_CHECKING:
    from rlviz.view.timeline import Timeline


@pytest.fixture(scope="module")
def detail(timeline: Timeline) -> Detail:
    """The detail of the simulated run, as its chart asks for it."""
    return Detail(timeline.run, timeline.scene)

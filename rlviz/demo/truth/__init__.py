"""What is to be found in a simulated run, computed from its schedule alone.

Definitions are those of docs/reference/simulated-run.md. Nothing here knows how rows are made or
read.
"""

from __future__ import annotations

from rlviz.demo.truth.whole import truth_of

__all__ = ["truth_of"]

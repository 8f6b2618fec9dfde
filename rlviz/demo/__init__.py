"""A simulated RL run: reports in nsys's own schema, and what is to be found in them.

`write` makes the reports of a run that never was; `Scenario` says which. Every report carries a
mark that it is simulated. Beside them stands ``truth.json``, computed from the schedule of the run
before any row exists (docs/reference/simulated-run.md tells its keys).
"""

from __future__ import annotations

from rlviz.demo.scenario import Scenario
from rlviz.demo.write import write

__all__ = ["Scenario", "write"]

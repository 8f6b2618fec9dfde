"""The foldable line below a chart: how its reports were aligned, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlviz.run.trust import ReportLine, report_lines, troubles, trust_line
from rlviz.view.legible import legible

if TYPE_CHECKING:
    from rlviz.run.run import Run
    from rlviz.run.trust import Trouble

__all__ = ["Trust", "trust_facts", "trust_of"]

# A thousand reports are no minute's reading, and not worth a megabyte in every notebook.
_MOST_REPORTS = 256
_MOST_TROUBLES = 100
_LONGEST_CELL = 120
_LONGEST_MESSAGE = 500

_HEADS = {
    "report": "report",
    "role": "role",
    "host": "host",
    "clock": "clock",
    "residual": "residual",
    "anchors": "anchors",
    "window_s": "window, s",
    "status": "status",
}
_NUMBERS = ("anchors", "window_s")


@dataclass(frozen=True)
class Trust:
    """What to trust of a run.

    Parameters
    ----------
    line : str
        All of it in a line.
    reports : tuple of ReportLine
        How each report came to its place.
    troubles : tuple of Trouble
        What is wrong, the worst first.
    """

    line: str
    reports: tuple[ReportLine, ...] = ()
    troubles: tuple[Trouble, ...] = ()


def trust_of(run: Run) -> Trust:
    """Gather what to trust of a run."""
    found = troubles(run.diagnostics)
    return Trust(trust_line(run), tuple(report_lines(run.reports)), tuple(found))


def trust_facts(trust: Trust | None) -> dict[str, Any] | None:
    """Write `trust` down for the browser: texts only, and no more than one can read."""
    if trust is None:
        return None
    reports, found = trust.reports[:_MOST_REPORTS], trust.troubles[:_MOST_TROUBLES]
    return {
        "line": legible(trust.line, _LONGEST_MESSAGE),
        "heads": [{"text": text, "number": name in _NUMBERS} for name, text in _HEADS.items()],
        "reports": [[_cell(getattr(one, name)) for name in _HEADS] for one in reports],
        "more_reports": len(trust.reports) - len(reports),
        "troubles": [
            {
                "severity": one.severity,
                "kind": legible(one.kind, _LONGEST_CELL),
                "reports": legible(one.reports, _LONGEST_MESSAGE),
                "message": legible(one.message, _LONGEST_MESSAGE),
            }
            for one in found
        ],
        "more_troubles": len(trust.troubles) - len(found),
    }


def _cell(value: object) -> str:
    return "-" if value is None else legible(str(value), _LONGEST_CELL)

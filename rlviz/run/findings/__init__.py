"""Findings: what an expert would say on seeing the chart, each with its number and its place."""

from rlviz.run.findings.find import find, findings_frame
from rlviz.run.findings.finding import Finding, Kind

__all__ = ["Finding", "Kind", "find", "findings_frame"]

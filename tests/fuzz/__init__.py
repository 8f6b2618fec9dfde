"""Damaged reports by the thousand: each ends in an error of ours or in a chart."""

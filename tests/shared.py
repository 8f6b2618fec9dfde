"""Where the reports with known answers lie, and the mark for tests that need them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

__all__ = [
    "ORACLE",
    "REPORTS",
    "SHARED",
    "SIM",
    "needs_shared",
    "oracle",
    "stem_of",
    "stems",
    "truth",
]

_REPOSITORY = Path(__file__).resolve().parent.parent


def _find() -> Path:
    """Look beside the repository first, then inside it."""
    for folder in (_REPOSITORY.parent, _REPOSITORY):
        if (folder / "shared" / "reports").is_dir():
            return folder / "shared"
    return _REPOSITORY.parent / "shared"


SHARED = _find()
REPORTS = SHARED / "reports"
ORACLE = SHARED / "oracle"
SIM = REPORTS / "sim"

needs_shared = pytest.mark.skipif(
    not REPORTS.is_dir(), reason="the reports with known answers (../shared) are not here"
)


def stems() -> list[str]:
    """Names of the oracle's files, ``folder__report``; none where ../shared is absent."""
    return sorted(path.stem for path in ORACLE.glob("*.json"))


def stem_of(path: object) -> str | None:
    """Name a test after its report; without reports pytest 8.2 asks for the name of nothing."""
    return path.stem if isinstance(path, Path) else None


def oracle(stem: str) -> tuple[Path, dict[str, Any]]:
    """Give a report and what plain SQL says about it."""
    folder, _, report = stem.partition("__")
    answer: dict[str, Any] = json.loads((ORACLE / f"{stem}.json").read_text("utf-8"))
    return REPORTS / folder / f"{report}.sqlite", answer


def truth(run: str) -> tuple[Path, dict[str, Any]]:
    """Give the folder of a simulated run and its known answers."""
    answer: dict[str, Any] = json.loads((SIM / run / "truth.json").read_text("utf-8"))
    return SIM / run, answer

"""The pictures of the documentation are those that their script draws."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.slow
@pytest.mark.usefixtures("browser")  # skips where there is none
def test_pictures_of_the_documentation_show_the_chart_as_it_is() -> None:
    checked = subprocess.run(
        [sys.executable, str(ROOT / "docs" / "make_pictures.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert checked.returncode == 0, checked.stderr

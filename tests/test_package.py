"""What is shipped: a wheel of what runs, and a source archive of what builds it."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LARGEST_WHEEL = 1_000_000
LARGEST_SOURCES = 4_000_000


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = pytest.importorskip("hatchling.builders.wheel", reason="hatchling is not installed")
    folder = str(tmp_path_factory.mktemp("wheel"))
    (built,) = builder.WheelBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    return Path(built)


@pytest.fixture(scope="module")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    builder = pytest.importorskip("hatchling.builders.sdist", reason="hatchling is not installed")
    folder = str(tmp_path_factory.mktemp("sources"))
    (built,) = builder.SdistBuilder(str(ROOT)).build(directory=folder, versions=["standard"])
    return Path(built)


def test_a_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        script = archive.read(next(n for n in names if n.endswith("entry_points.txt"))).decode()
    assert {re.split(r"[/-]", name)[0] for name in names} == {"rlviz"}
    assert {"rlviz/py.typed", "rlviz/magics.py", "rlviz/out/perfetto.py"} <= set(names)
    assert not [n for n in names if n.endswith((".ipynb", ".md", ".png", ".sqlite", ".pyc"))]
    assert script.split() == ["[console_scripts]", "rlviz", "=", "rlviz.cli:main"]
    assert wheel.stat().st_size < LARGEST_WHEEL


def test_a_wheel_runs_where_only_it_is(wheel: Path, tmp_path: Path) -> None:
    """Unpacked, with the dependencies that are installed, and away from the sources."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    code = (
        "import sys; sys.path.insert(0, sys.argv.pop(1)); import rlviz\n"
        "assert rlviz.__file__.startswith(sys.path[0]), rlviz.__file__\n"
        "from rlviz.cli import main; main()"
    )
    run = [sys.executable, "-I", "-c", code, str(tmp_path / "site")]
    small = ["--hosts", "1", "--steps", "1", "--kernels-per-gpu", "200"]
    for asked in (["demo", *small], ["export", "demo-reports", "-o", "x.html", "-o", "x.pftrace"]):
        told = subprocess.run(
            [*run, *asked], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert (told.returncode, told.stderr) == (0, "")
    assert (tmp_path / "x.html").read_text("utf-8").startswith("<!DOCTYPE html>")


def test_sources_hold_what_make_needs_and_no_more(sources: Path) -> None:
    with tarfile.open(sources) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    wanted = {"pyproject.toml", "README.md", "LICENSE", "Makefile", "rlviz/py.typed"}
    wanted |= {"notebooks/E2E_Timeline.ipynb", "notebooks/execute.py", "tests/conftest.py"}
    assert wanted <= names
    assert not [name for name in names if name.endswith((".sqlite", ".pyc", ".nsys-rep"))]
    assert sources.stat().st_size < LARGEST_SOURCES


def test_metadata_leads_nowhere_that_is_not(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith("METADATA"))
        told = email.message_from_bytes(archive.read(name))
    assert told["License-Expression"] == "Apache-2.0"
    assert told["Requires-Python"] == ">=3.11"
    assert "Typing :: Typed" in told.get_all("Classifier", [])
    assert not told.get_all("Project-URL", [])
    assert not told["Home-page"]

"""The project as a whole: what is shipped, what is documented, what is allowed to grow."""

from __future__ import annotations

import re
import tomllib
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rlviz"
LONGEST = 400


def files(folder: str, *suffixes: str) -> list[Path]:
    found = [path for path in (ROOT / folder).rglob("*") if path.suffix in suffixes]
    return sorted(path for path in found if "__pycache__" not in path.parts)


@pytest.mark.parametrize("folder", ["rlviz", "tests", "benchmarks", "docs"])
def test_no_file_grows_too_long_to_be_read(folder: str) -> None:
    lengths = {p: len(p.read_text("utf-8").splitlines()) for p in files(folder, ".py", ".js")}
    assert {str(p): n for p, n in lengths.items() if n > LONGEST} == {}


def test_the_wheel_holds_everything_that_is_read_at_run_time(tmp_path: Path) -> None:
    wheel = pytest.importorskip("hatchling.builders.wheel")
    (built,) = wheel.WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(built) as archive:
        shipped = set(archive.namelist())
    read = files("rlviz", ".py", ".js", ".css", ".toml", ".sql", ".typed")
    wanted = {path.relative_to(ROOT).as_posix() for path in [*read, PACKAGE / "py.typed"]}
    assert wanted <= shipped
    assert not [name for name in shipped if name.startswith(("tests", "docs", "benchmarks"))]
    for kind in (".toml", ".js", ".css", ".sql"):
        assert any(name.endswith(kind) for name in shipped), kind


def test_every_import_of_the_package_is_a_declared_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    declared = {re.split(r"[<>=~!\[ ]", name)[0].lower() for name in project["dependencies"]}
    # rich comes with typer, traitlets and IPython with ipywidgets, Pillow with matplotlib.
    brought = {"rich", "traitlets", "ipython", "pil"}
    imported = set()
    for path in files("rlviz", ".py"):
        found = re.findall(r"^\s*(?:from|import) (\w+)", path.read_text("utf-8"), re.MULTILINE)
        imported |= {name.lower() for name in found}
    outside = imported & _installed() - {"rlviz"}
    assert outside - brought <= declared


def _installed() -> set[str]:
    from importlib.metadata import packages_distributions

    return {name.lower() for name in packages_distributions()}

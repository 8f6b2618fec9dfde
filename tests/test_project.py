"""The project as a whole: what is shipped, what is documented, what is allowed to grow."""

from __future__ import annotations

import re
import runpy
import tomllib
import zipfile
from pathlib import Path

import pytest

from rlviz.run import assemble

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


def test_the_page_of_columns_says_what_the_code_says() -> None:
    page = runpy.run_path(str(ROOT / "docs" / "make_columns.py"))["columns_page"]()
    told = (ROOT / "docs" / "reference" / "columns.md").read_text("utf-8")
    assert told == page, "run: python docs/make_columns.py"


def test_every_kind_of_diagnostic_is_documented() -> None:
    call = re.compile(r'Diagnostic\(\s*"(?:error|warning|info)",\s*"([a-z-]+)"')
    kinds = {*assemble._KINDS.values(), "unreadable"}
    for path in files("rlviz", ".py"):
        kinds |= set(call.findall(path.read_text("utf-8")))
    told = (ROOT / "docs" / "reference" / "reading-reports.md").read_text("utf-8")
    documented = set(re.findall(r"`([a-z-]+)`(?=[^|]*\| (?:error|warning|info) \|)", told))
    assert kinds <= documented


@pytest.mark.parametrize(
    "page",
    [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_links_between_documents_lead_somewhere(page: Path) -> None:
    text = page.read_text("utf-8")
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if not target.startswith(("http", "#")):
            path, _, anchor = target.partition("#")
            there = page.parent / path
            assert there.exists(), target
            if anchor:
                assert anchor in _anchors(there.read_text("utf-8")), target


def _anchors(text: str) -> set[str]:
    heads = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", head).strip().lower().replace(" ", "-") for head in heads}

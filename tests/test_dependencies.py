"""What rlviz is built on, and that nothing it reads can make it run anything."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

import rlviz
from rlviz.errors import BadRules
from tests.small_reports import write

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "rlviz").rglob("*.py"))

# What makes code of bytes or text. Arrays are read as numbers only, frames as Arrow.
_LOADS_CODE = {
    *("pickle", "cPickle", "dill", "cloudpickle", "joblib", "shelve", "marshal", "copyreg"),
    *("runpy", "code", "codeop", "imp", "yaml", "ctypes", "torch", "builtins"),
}
_RUNS_TEXT = {"eval", "exec", "compile", "__import__", "breakpoint"}
_RUNS_BY_ATTRIBUTE = {
    *("read_pickle", "to_pickle", "load_extension", "enable_load_extension", "system", "popen"),
    *("deserialize", "load_module"),
}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_module_makes_code_of_what_it_reads(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            assert not {alias.name.partition(".")[0] for alias in node.names} & _LOADS_CODE
        elif isinstance(node, ast.ImportFrom):
            assert (node.module or "").partition(".")[0] not in _LOADS_CODE
        elif isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else ""
            assert name not in _RUNS_TEXT
            called = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            assert called not in _RUNS_BY_ATTRIBUTE
            given = {keyword.arg: keyword.value for keyword in node.keywords}
            for option in ("allow_pickle", "shell"):
                value = given.get(option, ast.Constant(False))
                assert isinstance(value, ast.Constant)
                assert value.value is False


def test_modules_are_imported_by_names_that_stand_in_the_source() -> None:
    importing = [path for path in SOURCES if "import_module" in path.read_text("utf-8")]
    assert importing == [ROOT / "rlviz" / "__init__.py"]
    # Public names and their modules are a table there; any other name is an error.
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts) for path in SOURCES}
    assert set(rlviz._HOMES.values()) <= modules
    with pytest.raises(AttributeError):
        rlviz.os  # noqa: B018


def test_only_nsys_and_our_own_processes_are_started() -> None:
    starts = {path.name for path in SOURCES if "import subprocess" in path.read_text("utf-8")}
    assert "export.py" in starts
    assert starts <= {"export.py", "pool.py"}


@pytest.mark.parametrize(
    "rule",
    [
        '[[role]]\nrole = "policy"\nranges = "!!python/object/apply:os.system [id]"',
        '[[role]]\nrole = "__import__(\'os\')"\nranges = ["*"]',
        '[[phase]]\nphase = "training"\nranges = ["(a+)+$"]\nhook = "os:system"',
    ],
)
def test_a_rule_file_is_names_and_patterns_and_nothing_else(tmp_path: Path, rule: str) -> None:
    (tmp_path / "mine.toml").write_text(rule)
    write(tmp_path / "w.sqlite")
    with pytest.raises(BadRules):
        rlviz.load(tmp_path / "w.sqlite", rules=tmp_path / "mine.toml")


def test_every_dependency_has_a_lower_bound_that_the_docs_state() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    told = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    for dependency in project["dependencies"]:
        match = re.fullmatch(r"([a-z0-9-]+)>=([0-9.]+)(,<\d+)?", dependency)
        assert match, dependency
        assert f"{match[1]} {match[2]}" in told

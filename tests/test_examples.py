"""Examples run: those of docstrings, and those of the pages as a reader would follow them."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import io
import re
import shlex
import shutil
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pytest
from typer.testing import CliRunner

import rlviz
from rlviz import demo
from rlviz.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
MODULES = sorted((ROOT / "rlviz").rglob("*.py"))
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE

# Where examples say that a run lies.
RUNS = ("demo-reports", "reports", "REPORTS", "ray/session_latest/logs/nsight", "new/nsight")
_BLOCK = re.compile(r"^(<!-- not run: .+ -->\n)?```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


class Block(NamedTuple):
    """A fenced block of a page, and what the page says comes out of it."""

    language: str
    code: str
    told: str | None


def name_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def blocks(page: Path) -> Iterator[Block]:
    """Give what runs on a page: Python, commands of rlviz, and files by the name on top."""
    text = page.read_text("utf-8")
    found = list(_BLOCK.finditer(text))
    for block, after in zip_longest(found, found[1:]):
        skipped, language, code = block.groups()
        runs = language == "python" or (language == "sh" and "rlviz " in code)
        if not skipped and (runs or re.match(r"# \w+\.toml\n", code)):
            # What comes out stands right below.
            below = after is not None and not text[block.end() : after.start()].strip()
            told = after[3] if below and after[2] == "text" else None
            yield Block(language, code, told)


PAGES = [
    page
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")))
    if list(blocks(page))
]


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two small runs: one as it should be, and one with a long tail."""
    folder = tmp_path_factory.mktemp("small")
    demo.write(folder / "run", kernels_per_gpu=2_000)
    demo.write(folder / "tail", kernels_per_gpu=2_000, long_tail=True)
    return folder


@pytest.fixture
def there(small: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Go to a folder that has what examples name: whole runs, and files by other names."""
    for place in RUNS:
        shutil.copytree(small / "run", tmp_path / place)
    shutil.copytree(small / "tail", tmp_path / "old/nsight")
    (tmp_path / "trainer").mkdir()
    for role, name in (("policy", "trainer/{}.sqlite"), ("generation", "vllm-{}.sqlite")):
        for number, report in enumerate(sorted((small / "run").rglob(f"*{role}_worker*"))):
            shutil.copy(report, tmp_path / name.format(number))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_examples_in_docstrings_run(path: Path, request: pytest.FixtureRequest) -> None:
    text = path.read_text("utf-8")
    if ">>> " not in text:
        return
    if "reports" in text or "nsight" in text:
        request.getfixturevalue("there")
    module = importlib.import_module(name_of(path))
    names = {**vars(module), "np": np, "rlviz": rlviz}
    told = doctest.testmod(module, extraglobs=names, optionflags=FLAGS)
    assert told.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
@pytest.mark.usefixtures("there")
def test_a_page_can_be_followed(page: Path) -> None:
    names: dict[str, Any] = {}
    for block in blocks(page):
        said = run(block, names)
        if block.told is not None:
            checker = doctest.OutputChecker()
            assert checker.check_output(block.told, said, FLAGS), f"{block.code}\nsays\n{said}"


def run(block: Block, names: dict[str, Any]) -> str:
    if block.language == "sh":
        lines = block.code.replace("\\\n", "").splitlines()
        return "".join(command(line) for line in lines if line.startswith("rlviz "))
    if block.language == "toml":
        Path(block.code.split()[1]).write_text(block.code, encoding="utf-8")
        return ""
    *statements, last = ast.parse(block.code).body
    value = None
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        if not isinstance(last, ast.Expr):
            statements.append(last)
        exec(compile(ast.Module(statements, []), "page", "exec"), names)
        if isinstance(last, ast.Expr):
            value = eval(compile(ast.Expression(last.value), "page", "eval"), names)
    return printed.getvalue() + ("" if value is None else f"{value!r}\n")


def command(line: str) -> str:
    result = CliRunner().invoke(app, shlex.split(line, comments=True)[1:])
    assert result.exit_code == 0, f"{line}\n{result.output}"
    return result.stdout

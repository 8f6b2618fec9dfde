"""Run the tests with the oldest versions that pyproject.toml allows: ``python -m tests.lowest``.

It needs uv (``pip install uv``), which picks them: the lowest of what rlviz names, the latest of
what those need. Arguments go to pytest; by default all tests but those of the browser.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

ROOT = Path(__file__).parents[1]
_TESTS_NEED = "pytest>=8.2\nhypothesis>=6.100\n"
# The command line's page is as the newest typer spells it.
_PAGE = "tests/test_docs.py::test_a_generated_page_is_what_its_maker_gives"
_NOT = ("--ignore=tests/browser", "--ignore=tests/test_notebook.py", f"--deselect={_PAGE}")
# Old libraries meet newer ones that they do not know yet.
_OLD = ("-W", "default::DeprecationWarning", "-W", "default::FutureWarning")
_ALL = ("-m", "not browser", "tests", *_NOT)


def main(arguments: list[str]) -> int:
    """Install them in an environment that is thrown away, and give pytest's exit status."""
    with TemporaryDirectory(prefix="rlviz-lowest-") as made:
        folder = Path(made)
        python = folder / "venv" / "bin" / "python"
        (folder / "tests.in").write_text(_TESTS_NEED)
        _uv("venv", "--python", sys.executable, folder / "venv")
        pinned = folder / "lowest.txt"
        lowest = ("--resolution", "lowest-direct", "--only-binary", ":all:", "--no-annotate")
        _uv("pip", "compile", *lowest, "-o", pinned, "pyproject.toml", folder / "tests.in")
        _uv("pip", "install", "--python", python, "--requirement", pinned)
        # Programs that the tests start import it from wherever they run.
        _uv("pip", "install", "--python", python, "--no-deps", "--editable", ".")
        return subprocess.call([python, "-m", "pytest", *_OLD, *(arguments or _ALL)], cwd=ROOT)


def _uv(*command: str | Path) -> None:
    subprocess.run(["uv", "--quiet", *command], cwd=ROOT, check=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

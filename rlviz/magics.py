"""The magic ``%rlviz`` of notebooks, after ``%load_ext rlviz``."""

from __future__ import annotations

import os
import re
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments

from rlviz.errors import RlvizError

if TYPE_CHECKING:
    from argparse import Namespace

    from IPython.core.interactiveshell import InteractiveShell

    from rlviz.view.timeline import Timeline

__all__ = ["load_ipython_extension", "unload_ipython_extension"]

_CALLED = re.compile(r".*%rlviz\s")
_WORD = re.compile(r"""(?:"[^"]*|'[^']*|(?:\\.|[^\s"'])*)$""")
_SPECIAL = re.compile(r"""[\s"'\\]""")
_OPTIONS = ("--iteration", "--rows", "--save")
_READ = (".sqlite", ".nsys-rep", ".qdrep")
_SAVED = (".html", ".pftrace", ".pdf", ".png", ".svg")


@magics_class
class RlvizMagics(Magics):
    """The magic ``%rlviz``."""

    @magic_arguments()
    @argument(
        "reports", nargs="+", metavar="PATH", help="Folders, globs, files: .sqlite or .nsys-rep."
    )
    @argument("--iteration", type=int, metavar="N", help="Iteration to show and to draw.")
    @argument(
        "--rows",
        metavar="TEXT|N,N",
        help="Rows to draw, in figures that are saved: a text of "
        "their label, host or pool, or numbers.",
    )
    @argument(
        "--save",
        action="append",
        metavar="FILE",
        help="Save it too: .html is a page, .png, "
        ".svg and .pdf are figures, .pftrace is a trace. Can be repeated.",
    )
    @line_magic("rlviz")  # type: ignore[arg-type]
    def rlviz(self, line: str) -> Timeline:
        """Show the timeline of a run.

        Its value is the timeline: t = %rlviz PATH, and then t.zoom(iteration=4). What stands in
        braces is a Python value: %rlviz {folder} --iteration {n}. A path with spaces takes quotes.
        For all that can be chosen: help(rlviz.show).
        """
        asked = _asked(type(self).rlviz, line)
        try:
            return _shown(asked)
        except (RlvizError, ValueError) as error:
            raise UsageError(str(error)) from None
        except OSError as error:
            raise UsageError(error.strerror or type(error).__name__) from None


def load_ipython_extension(ipython: InteractiveShell) -> None:
    """Add ``%rlviz``; what ``%load_ext rlviz`` calls."""
    ipython.register_magics(RlvizMagics)
    matchers = _matchers(ipython)
    if _complete not in matchers:
        # IPython takes a function that says so for one that knows the whole line.
        _complete.matcher_api_version = 2  # type: ignore[attr-defined]
        matchers.append(_complete)


def unload_ipython_extension(ipython: InteractiveShell) -> None:
    """Take ``%rlviz`` away; what ``%unload_ext rlviz`` calls."""
    ipython.magics_manager.magics["line"].pop("rlviz", None)
    if _complete in _matchers(ipython):
        _matchers(ipython).remove(_complete)


def _matchers(ipython: InteractiveShell) -> list[Any]:
    # Before IPython 8.6 there were none: it completes paths, as after any magic.
    found: list[Any] = getattr(ipython.Completer, "custom_matchers", [])
    return found


def _asked(magic: Any, line: str) -> Namespace:  # noqa: ANN401  - IPython gives it a parser
    try:
        words = shlex.split(line, posix=os.name == "posix")
    except ValueError as error:
        message = f"{error}: a path with spaces takes quotes"
        raise UsageError(message) from None
    if not words:
        message = "name the reports: %rlviz PATH, or %rlviz? for help"
        raise UsageError(message)
    asked: Namespace = magic.parser.parse_args(words)
    if asked.rows is not None and not asked.save:
        message = "--rows is for figures: add --save FILE"
        raise UsageError(message)
    return asked


def _shown(asked: Namespace) -> Timeline:
    import rlviz
    from rlviz.saving import is_figure, save_all
    from rlviz.view.named_rows import rows_from_text

    reports = asked.reports[0] if len(asked.reports) == 1 else asked.reports
    timeline = rlviz.show(reports)
    if asked.iteration is not None:
        timeline.zoom(iteration=asked.iteration)
    files = [Path(name) for name in asked.save or ()]
    look: dict[str, object] = {}
    if asked.rows is not None:
        look["rows"] = rows_from_text(asked.rows)
    if asked.iteration is not None and any(map(is_figure, files)):
        # A page, and a trace, hold the whole run, whatever the chart shows.
        look["iteration"] = asked.iteration
    for path in save_all(timeline, files, look):
        print(path)
    return timeline


def _complete(context: Any) -> dict[str, Any]:  # noqa: ANN401  - its type is new in IPython 8.6
    """Complete an option or a path behind ``%rlviz``, and have nothing else offered there."""
    line = context.text_until_cursor
    if not _CALLED.match(line):
        return {"completions": []}
    from IPython.core.completer import SimpleCompletion

    found = _WORD.search(line)
    word = found[0] if found else ""
    offered = _OPTIONS if word.startswith("-") else _paths(word, line)
    ours = [SimpleCompletion(text=one, type="path") for one in offered if one.startswith(word)]
    return {"completions": ours, "matched_fragment": word, "suppress": True, "ordered": True}


def _paths(word: str, line: str) -> list[str]:
    """Give the folders and files that a word may become: files to save to after ``--save``."""
    quote = word[:1] if word[:1] in ("'", '"') else ""
    typed = word[len(quote) :] if quote else re.sub(r"\\(.)", r"\1", word)
    folder, _, start = typed.rpartition("/")
    where = Path(f"{folder}/" if "/" in typed else ".").expanduser()
    suffixes = _SAVED if line[: len(line) - len(word)].rstrip().endswith("--save") else _READ
    try:
        entries = sorted(where.iterdir())
    except OSError:
        return []
    offered = []
    for entry in entries:
        hidden = entry.name.startswith(".") and not start.startswith(".")
        if hidden or not entry.name.startswith(start):
            continue
        if entry.is_dir() or entry.name.endswith(suffixes):
            path = f"{folder}/{entry.name}" if "/" in typed else entry.name
            ends = "/" if entry.is_dir() else quote
            offered.append(quote + path + ends if quote else _SPECIAL.sub(r"\\\g<0>", path) + ends)
    return offered

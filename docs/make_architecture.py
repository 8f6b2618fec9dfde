"""Write ``docs/architecture.md`` from what every module says of itself, after a change of one."""

from __future__ import annotations

import ast
from itertools import takewhile
from pathlib import Path

_PAGE = Path(__file__).with_name("architecture.md")
_ROOT = Path(__file__).parents[1]

_HEAD = """\
# Architecture

*Written by `docs/make_architecture.py` from the first line of every module: change these, not this
page.*

Data flows one way, and a layer knows only earlier ones:

```text
.sqlite, .nsys-rep ─► reports ─► run ─► levels ─► view ─► notebook, page, figure
                                  ▲        ▲               out ─► trace
                                rules    store             run ─► Parquet
```

- **Opening.** `rlviz.load` finds the reports (`opening`), leaves out what was not asked for
  (`selection`), and reads the others into the store, several at once (`loading`, `pool`). What was
  read is put on one clock and made into a `Run` (`run/assemble.py`). What takes long to work out
  goes by a name through the run's memory (`run/memo.py`, `levels/memory.py`): a run that is opened
  again is not worked out again.
- **Drawing.** `view/compose.py` decides what a chart shows, in no library's words: a
  `Scene`. Bokeh (`view/figure.py`), matplotlib (`view/still.py`) and the page (`view/page.py`) only
  draw it.
- **Zooming.** The lens (`view/js/lens.js`) asks whoever has the events for the detail of a window:
  in a notebook the kernel (`view/widget.py`, `view/detail.py`), in a page the page itself
  (`view/js/held.js`, packed by `view/held.py`). Both give the same, and tests hold one against
  the other.
- **The simulated run** (`demo`) imports nothing of all this: its truth is a second opinion.

## Where to begin

| to change | begin at | and then |
| --- | --- | --- |
"""

_BEGINNINGS = (
    (
        "what is read of a report",
        (
            "reports/read.py",
            "reports/gpu_rows.py",
            "reports/nvtx.py",
            "reports/identity.py",
        ),
    ),
    (
        "what a framework calls things",
        (
            "rules/nemo_rl.toml",
            "run/rulebook.py",
            "run/rules.py",
        ),
    ),
    (
        "how reports come to one clock",
        (
            "run/clock.py",
            "docs/reference/alignment.md",
        ),
    ),
    (
        "what an iteration is",
        (
            "run/story.py",
            "run/iterations.py",
            "run/refits.py",
            "run/steps.py",
        ),
    ),
    (
        "a number of the summary",
        (
            "run/summary.py",
            "run/columns.py",
            "run/unknown.py",
            "docs/reference/definitions.md",
        ),
    ),
    (
        "a finding",
        (
            "run/findings/find.py",
            "docs/reference/findings.md",
        ),
    ),
    (
        "what is said to be wrong",
        (
            "reports/report.py",
            "docs/reference/reading-reports.md",
        ),
    ),
    (
        "what is kept on disk",
        (
            "levels/store.py",
            "levels/kept.py",
            "levels/memory.py",
        ),
    ),
    (
        "what the chart shows",
        (
            "view/compose.py",
            "view/scene.py",
            "view/marks.py",
            "view/still_marks.py",
            "docs/reference/chart.md",
        ),
    ),
    ("a colour", ("view/palette.py",)),
    (
        "what the pointer and the keys do",
        (
            "view/js/lens.js",
            "view/js/hover.js",
            "view/js/keys.js",
            "view/js/measure.js",
        ),
    ),
    (
        "what a row expands into",
        (
            "view/threads.py",
            "run/cpu.py",
            "levels/lanes.py",
            "view/js/threads.js",
        ),
    ),
    (
        "an option of a command",
        (
            "cli/commands.py",
            "docs/make_command_line.py",
        ),
    ),
    (
        "the simulated run",
        (
            "demo/scenario.py",
            "demo/schedule.py",
            "demo/truth/whole.py",
        ),
    ),
)
"""What one may want to change, where to begin, and what comes next."""


_PARTS = {
    "": "Opening a run, and what all parts share",
    "reports": "What nsys wrote, as it stands",
    "rules": "What frameworks name things",
    "run": "What happened",
    "run/findings": "What an expert would say",
    "levels": "The detail that a zoom needs, and the store",
    "view": "What is drawn",
    "view/js": "The chart in a browser",
    "out": "Formats of other tools",
    "cli": "The command line",
    "demo": "The simulated run",
    "demo/truth": "What is to be found in it",
}


def architecture_page() -> str:
    """Give the text of ``docs/architecture.md``."""
    begin = "".join(
        f"| {what} | `{first}` | {', '.join(f'`{path}`' for path in then)} |\n"
        for what, (first, *then) in _BEGINNINGS
    )
    sections = (_section(part, title) for part, title in _PARTS.items())
    return f"{_HEAD}{begin}\n## All modules\n{''.join(sections)}"


def modules(part: str) -> list[Path]:
    """List the modules of a part of the package."""
    folder = _ROOT / "rlviz" / part
    found = [path for path in folder.iterdir() if path.suffix in (".py", ".js", ".toml")]
    return sorted(path for path in found if path.name != "__init__.py")


def _section(part: str, title: str) -> str:
    heading = f"`{part}`: {title[:1].lower()}{title[1:]}" if part else title
    lines = [
        f"\n### {heading}\n",
        "| module | what is in it |",
        "| --- | --- |",
        *(f"| `{path.name}` | {_told(path)} |" for path in modules(part)),
    ]
    return "\n".join(lines) + "\n"


def _told(path: Path) -> str:
    """Give the first sentence that a module says of itself."""
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        told = (ast.get_docstring(ast.parse(text)) or "").partition("\n\n")[0]
    else:
        mark = "//" if path.suffix == ".js" else "#"
        head = takewhile(lambda line: line.startswith(mark), text.splitlines())
        told = " ".join(line.removeprefix(mark).strip() for line in head).split(". ")[0]
    return (
        " ".join(told.replace("``", "`").split())
        .rstrip(".")
        .replace("<", "&lt;")
        .replace("|", "\\|")
    )


if __name__ == "__main__":
    _PAGE.write_text(architecture_page(), encoding="utf-8")

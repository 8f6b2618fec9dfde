"""Write ``docs/reference/command-line.md`` from the commands themselves, after a change of one."""

from __future__ import annotations

import inspect
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_type_hints

from typer.main import get_command

from rlviz.cli import app

if TYPE_CHECKING:
    from collections.abc import Iterator

_PAGE = Path(__file__).with_name("reference") / "command-line.md"

_HEAD = """\
# Command line

*Written by `docs/make_command_line.py` from the commands: change these, not this page.*

Results go to standard output, everything else to standard error; a traceback is a fault of rlviz.
Progress is shown on a terminal only.

| command | what it does |
| --- | --- |
"""


def command_line_page() -> str:
    """Give the text of ``docs/reference/command-line.md``."""
    commands = list(_commands(get_command(app), "rlviz"))
    listed = "".join(
        f"| [`{name}`](#{name.replace(' ', '-')}) | {_paragraphs(command)[0]} |\n"
        for name, command in commands
    )
    return _HEAD + listed + "".join(_section(name, command) for name, command in commands)


# Typer's own classes differ from version to version; what is used of them does not.
def _commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    below = getattr(command, "commands", None)
    if below is None:
        yield name, command
        return
    for own, one in below.items():
        yield from _commands(one, f"{name} {own}")


def _section(name: str, command: Any) -> str:  # noqa: ANN401
    kinds = get_type_hints(inspect.unwrap(command.callback))
    shown = [one for one in command.params if one.name != "help"]
    arguments = [one for one in shown if one.param_type_name == "argument"]
    options = [one for one in shown if one.param_type_name == "option"]
    usage = " ".join([name, *(["[OPTIONS]"] if options else []), *map(_argument, arguments)])
    lines = [f"\n## `{name}`\n", f"```text\n{usage}\n```\n"]
    lines += [f"{paragraph}\n" for paragraph in _paragraphs(command)]
    if shown:
        lines += ["| option | takes | meaning |", "| --- | --- | --- |"]
        lines += [_line(one, kinds.get(one.name)) for one in (*arguments, *options)]
    return "\n".join(lines).rstrip() + "\n"


def _paragraphs(command: Any) -> list[str]:  # noqa: ANN401
    text = inspect.cleandoc(command.help or "")
    return [_escaped(" ".join(part.split())) for part in re.split(r"\n\s*\n", text)]


def _line(parameter: Any, kind: object) -> str:  # noqa: ANN401
    told = _escaped(parameter.help or "")
    if parameter.param_type_name == "argument":
        return f"| `{_argument(parameter)}` | | {told} |"
    names = [*parameter.opts, *parameter.secondary_opts]
    takes = parameter.metavar or _takes(kind)
    default = parameter.default
    if parameter.required:
        told += " Required."
    elif takes and parameter.show_default and isinstance(default, int | float | str):
        told += f" Default: `{default}`."
    return f"| {', '.join(f'`{one}`' for one in names)} | {_code(takes)} | {told} |"


def _argument(parameter: Any) -> str:  # noqa: ANN401
    return f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"


def _takes(kind: object) -> str:
    kinds = {kind, *get_args(kind)}
    words = {bool: "", int: "INTEGER", float: "NUMBER", Path: "PATH"}
    return next((word for one, word in words.items() if one in kinds), "TEXT")


def _code(text: str) -> str:
    # Not all that show Markdown agree on what a bar in backquotes is inside of a table.
    return f"<code>{_escaped(text)}</code>" if "|" in text else f"`{text}`" if text else ""


def _escaped(text: str) -> str:
    return text.replace("<", "&lt;").replace("|", "&#124;")


if __name__ == "__main__":
    _PAGE.write_text(command_line_page(), encoding="utf-8")

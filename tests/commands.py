"""Give commands of rlviz: in this process, in one of their own, and at a terminal."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import termios
from typing import TYPE_CHECKING, Any, NamedTuple

from typer.testing import CliRunner

from rlviz import cli

if TYPE_CHECKING:
    from typer.testing import Result

__all__ = ["MAIN", "Shown", "at_terminal", "here", "process"]

MAIN = [sys.executable, "-c", "from rlviz.cli import main; main()"]
"""What starts rlviz as its console script does."""

_LINES, _COLUMNS = 24, 200


class Shown(NamedTuple):
    """What a command at a terminal gave: its status, and what the terminal was sent."""

    status: int
    text: bytes


def here(*arguments: object) -> Result:
    """Give a command in this process."""
    return CliRunner().invoke(cli.app, [str(argument) for argument in arguments])


def process(*arguments: object, **options: Any) -> subprocess.CompletedProcess[str]:
    """Give a command in a process of its own, through pipes; `options` as of `subprocess.run`."""
    asked = [*MAIN, *map(str, arguments)]
    return subprocess.run(asked, capture_output=True, text=True, check=False, **options)


def at_terminal(*arguments: object) -> Shown:
    """Give a command at a terminal with colours."""
    reader, writer = pty.openpty()
    termios.tcsetwinsize(writer, (_LINES, _COLUMNS))
    environment = {key: value for key, value in os.environ.items() if key != "TQDM_DISABLE"}
    child = subprocess.Popen(
        [*MAIN, *map(str, arguments)],
        stdout=writer,
        stderr=writer,
        env=environment | {"TERM": "xterm"},
    )
    os.close(writer)
    text = b""
    while True:
        try:
            part = os.read(reader, 65_536)
        except OSError:  # how a terminal says that the other end is closed
            break
        if not part:
            break
        text += part
    os.close(reader)
    return Shown(child.wait(30), text)

"""The command line: a module a command, and what all of them share."""

from rlviz.cli.commands import app, main

__all__ = ["app", "main"]

"""The errors that rlviz raises: each names the file, what is wrong, and what to do."""

from __future__ import annotations

from pathlib import Path

__all__ = [
    "BadRules",
    "ExportNeeded",
    "NoReports",
    "NotAnExport",
    "RlvizError",
    "UnfinishedCapture",
    "UnreadableReport",
    "name_of",
    "written",
]


def written(path: Path | str) -> str:
    r"""Write a path as text that any encoding can take: a file's name may be any bytes.

    Examples
    --------
    >>> written("worker\udcff.sqlite")
    'worker\\udcff.sqlite'
    """
    return str(path).encode("utf-8", "backslashreplace").decode()


def name_of(path: Path | str) -> str:
    """Give the name of a file as `written` has it."""
    return written(Path(path).name)


class RlvizError(Exception):
    """Something about one input that rlviz cannot work with.

    Parameters
    ----------
    path : Path or str
        The input it is about.
    problem : str
        What is wrong, in one sentence.
    remedy : str, optional
        What to do or to run.

    Examples
    --------
    >>> print(RlvizError("w.sqlite", "it is empty.", "Export it again."))
    w.sqlite: it is empty.
    Export it again.
    """

    def __init__(self, path: Path | str, problem: str, remedy: str = "") -> None:
        self.path: Path = Path(path)
        self.problem: str = written(problem)
        self.remedy: str = written(remedy)
        super().__init__(path, problem, remedy)

    def __str__(self) -> str:
        # Only the file's own name: a message ends up in logs and pages, the folder is private.
        head = f"{name_of(self.path)}: {self.problem}"
        return f"{head}\n{self.remedy}" if self.remedy else head


class NotAnExport(RlvizError):
    """The file is no SQLite export of nsys."""


class UnreadableReport(RlvizError):
    """The file is a report, but it cannot be read: cut off, damaged, locked away."""


class ExportNeeded(RlvizError):
    """A ``.nsys-rep`` that has no export yet, and no nsys here to make one."""


class UnfinishedCapture(RlvizError):
    """A ``.qdstrm``: nsys was killed before it wrote the report."""


class BadRules(RlvizError):
    """A rule file that cannot be understood."""


class NoReports(RlvizError):
    """Nothing could be loaded; `reasons` tells why, one error an input.

    Parameters
    ----------
    path : Path or str
        What was asked for.
    problem, remedy : str
        As for `RlvizError`.
    reasons : sequence of RlvizError
        What was wrong with each input that was found.
    """

    def __init__(
        self,
        path: Path | str,
        problem: str,
        remedy: str = "",
        reasons: tuple[RlvizError, ...] = (),
    ) -> None:
        super().__init__(path, problem, remedy)
        self.reasons = reasons

    def __str__(self) -> str:
        return "\n".join([super().__str__(), *(f"- {reason}" for reason in self.reasons)])

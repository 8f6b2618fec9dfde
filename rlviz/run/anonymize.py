"""A run without the names of its hosts, people and files, fit to be shown to strangers.

Numbers, roles, kernels and ranges stay as they are. Replaced are host names, the UUIDs of GPUs,
the names of reports, and in every text that a report holds: those names, users, and paths.
"""

from __future__ import annotations

import getpass
import re
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from rlviz.errors import RlvizError, name_of, written
from rlviz.reports.find import expanded
from rlviz.run.words import natural_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rlviz.reports.report import Gpu, Report

__all__ = ["Anonymous", "anonymous"]

_HOME = re.compile(r"[/\\](?:home|users)[/\\]([^/\\\s:;,'\"]+)", re.IGNORECASE)
# A path has a root and a folder at least: `worker/step 3` and `a / b` are names.
_PATHS = re.compile(
    r"(?<![\w.:/\\])(?:file:/{2,3}|~)?(?:[A-Za-z]:[/\\]|~?/)(?:[^/\\\s:;,'\"()<>]+[/\\])+"
    r"[^/\\\s:;,'\"()<>]*"
)
_MAIL = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBERED = re.compile(r"(.*?)( \(\d+\))?", re.DOTALL)
_SHORTEST = 3  # what is shorter stands for too much else
# Logins that tell nobody, and would be missed where they mean something else.
_NOBODY = frozenset({"root", "ray", "user", "users", "ubuntu", "admin", "runner", "nobody", "app"})


@dataclass(frozen=True)
class Anonymous:
    """Reports and failures with names that tell nothing; the same everywhere in a run.

    Parameters
    ----------
    reports : list of Report
        Their files are the same: what is read of them later goes through `Report.spell` too.
    failures : list of (str, RlvizError)
        What could not be read.
    aliases : dict of str to str
        What stands for which host and report.
    """

    reports: list[Report]
    failures: list[tuple[str, RlvizError]]
    aliases: dict[str, str]

    def offsets(self, offsets: Mapping[str, float] | None) -> Mapping[str, float] | None:
        """Give offsets by the new names, of those that were given by the old ones."""
        return offsets and {self._alias(name): offset for name, offset in offsets.items()}

    def _alias(self, name: str) -> str:
        if name in self.aliases:
            return self.aliases[name]
        # Of two hosts with one name, the second is known with a number.
        match = _NUMBERED.fullmatch(name)
        stem, number = match.groups() if match else (name, None)
        return self.aliases.get(stem, stem) + (number or "")


def anonymous(
    reports: Sequence[Report], failures: Sequence[tuple[str, RlvizError]] = ()
) -> Anonymous:
    """Replace the names of hosts, users, files and GPUs of a run.

    Parameters
    ----------
    reports : sequence of Report
        What could be read.
    failures : sequence of (str, RlvizError)
        Key and error of what could not.

    Returns
    -------
    Anonymous
        ``host-1``, ``report-1`` and so on, numbered in the order of the names they stand for.
    """
    hosts = _numbered("host", (r.identity.host for r in reports if r.identity.host))
    keys = _numbered("report", [*(r.key for r in reports), *(key for key, _ in failures)])
    gpus = _numbered("gpu", (g.uuid for r in reports for g in _gpus_of(r) if g.uuid))
    files = {name_of(r.path): keys[r.key] for r in reports}
    files |= {name_of(error.path): keys[key] for key, error in failures}
    stems = {Path(name).stem: alias for name, alias in files.items()}
    users = dict.fromkeys(_users(reports, failures), "user")
    short = {host.partition(".")[0]: alias for host, alias in hosts.items() if host[0].isalpha()}
    spell = _Spelling({**users, **short, **hosts, **stems, **files, **keys})
    return Anonymous(
        [_report(report, hosts, keys, gpus, spell) for report in reports],
        [(keys[key], _error(error, keys[key], spell)) for key, error in failures],
        {**hosts, **keys},
    )


class _Spelling:
    """Write a text without names that tell."""

    def __init__(self, aliases: Mapping[str, str]) -> None:
        self._aliases = {name.lower(): alias for name, alias in aliases.items()}
        known = sorted((n for n in aliases if len(n) >= _SHORTEST), key=len, reverse=True)
        # A name inside of a longer word is another word.
        self._known = re.compile(
            rf"(?<![A-Za-z0-9])(?:{'|'.join(map(re.escape, known)) or '(?!)'})(?![A-Za-z0-9])",
            re.IGNORECASE,
        )

    def __call__(self, text: str) -> str:
        text = _MAIL.sub("user", _PATHS.sub("path", text))
        return self._known.sub(lambda found: self._aliases[found[0].lower()], text)


def _report(
    report: Report,
    hosts: Mapping[str, str],
    keys: Mapping[str, str],
    gpus: Mapping[str, str],
    spell: _Spelling,
) -> Report:
    who = report.identity
    return replace(
        report,
        key=keys[report.key],
        spell=spell,
        identity=replace(
            who,
            host=hosts[who.host] if who.host else who.host,
            gpus={place: _gpu(gpu, gpus) for place, gpu in who.gpus.items()},
            machine_gpus=tuple(_gpu(gpu, gpus) for gpu in who.machine_gpus),
        ),
        diagnostics=tuple(replace(d, message=spell(d.message)) for d in report.diagnostics),
    )


def _error(error: RlvizError, alias: str, spell: _Spelling) -> RlvizError:
    return type(error)(alias, spell(error.problem), spell(error.remedy))


def _gpu(gpu: Gpu, gpus: Mapping[str, str]) -> Gpu:
    return replace(gpu, uuid=gpus[gpu.uuid]) if gpu.uuid else gpu


def _gpus_of(report: Report) -> list[Gpu]:
    return [*report.identity.gpus.values(), *report.identity.machine_gpus]


def _numbered(word: str, names: Iterable[str]) -> dict[str, str]:
    """Give names numbers as people count, with as many digits each."""
    ordered = sorted(set(names), key=natural_key)
    digits = len(str(len(ordered)))
    return {name: f"{word}-{place:0{digits}}" for place, name in enumerate(ordered, 1)}


def _users(reports: Sequence[Report], failures: Sequence[tuple[str, RlvizError]]) -> set[str]:
    """Find who is named: in the paths of reports, and in the paths that their texts hold."""
    paths = [*(r.path for r in reports), *(error.path for _, error in failures)]
    texts = [written(path) for path in paths]
    for report in reports:
        texts += report.names
        texts += [*report.identity.processes.values(), *report.identity.threads.values()]
    found = {user for text in texts for user in _HOME.findall(text)} | {expanded("~").name}
    with suppress(OSError, KeyError):  # a container's user need not have a name
        found.add(getpass.getuser())
    return {user for user in found if user.lower() not in _NOBODY and len(user) >= _SHORTEST}

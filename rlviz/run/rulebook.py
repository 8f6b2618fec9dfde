"""Read rules: those of the frameworks that rlviz knows, and a user's own."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from rlviz.errors import BadRules
from rlviz.run.rules import PHASES, ROLES, Pattern, PhaseRule, RoleRule, Rules

if TYPE_CHECKING:
    import os

__all__ = ["RuleSource", "read_rules", "shipped_rules"]

RuleSource: TypeAlias = "str | os.PathLike[str] | Mapping[str, Any]"

_FIRST_STEP = "first_step"
_RANK = "rank"
_FRAMEWORKS = ("nemo_rl", "verl", "rlinf", "vllm", "plain")
_KEYS: dict[str, frozenset[str]] = {
    "": frozenset({"framework", "role", "phase", "iteration", "kernels", "reports"}),
    "role": frozenset({"role", "ranges", "processes", "files"}),
    "phase": frozenset({"phase", "ranges"}),
    "iteration": frozenset({_FIRST_STEP, "steps"}),
    "reports": frozenset({_RANK}),
    "kernels": frozenset({"communication"}),
}


@cache
def shipped_rules() -> Rules:
    """Rules of all frameworks that rlviz knows."""
    folder = resources.files("rlviz.rules")
    rules = Rules()
    for framework in _FRAMEWORKS:
        name = f"{framework}.toml"
        rules = _joined(rules, _Reader(name, (folder / name).read_text("utf-8")).rules())
    return rules


def read_rules(source: RuleSource | None) -> Rules:
    """Read a user's rules and put them before those that rlviz knows.

    Parameters
    ----------
    source : path, mapping or None
        A TOML file like those in ``rlviz/rules``, or what it would hold; None for no rules of
        one's own.

    Raises
    ------
    BadRules
        The file cannot be read, or a key of it is none; it names file, line and key.

    Examples
    --------
    >>> rules = read_rules({"phase": [{"phase": "training", "ranges": ["my_step"]}]})
    >>> rules.phases[0].phase
    'training'
    """
    if source is None:
        return shipped_rules()
    if isinstance(source, Mapping):
        own = _Reader("rules", "", dict(source)).rules()
    else:
        path = Path(source)
        try:
            text = path.read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            problem = f"the rules cannot be read ({type(error).__name__})."
            raise BadRules(path, problem, "Name a TOML file in UTF-8.") from None
        own = _Reader(str(path), text).rules()
    return _joined(own, shipped_rules())


def _joined(first: Rules, second: Rules) -> Rules:
    return Rules(
        first.roles + second.roles,
        first.phases + second.phases,
        Pattern(first.steps.globs + second.steps.globs),
        first.first_step + second.first_step,
        first.rank + second.rank,
        Pattern(first.communication.globs + second.communication.globs),
    )


class _Reader:
    """Turns one file into rules, and knows where in it a key stands."""

    def __init__(self, path: str, text: str, content: dict[str, Any] | None = None) -> None:
        self._path = path
        self._text = text
        self._content = self._parsed() if content is None else content

    def rules(self) -> Rules:
        content = self._content
        self._check(content, "")
        framework = self._text_of(content, "framework", "one's own")
        iteration = self._table(content, "iteration")
        first_step = self._text_of(iteration, _FIRST_STEP, "")
        rank = self._text_of(self._table(content, "reports"), _RANK, "")
        return Rules(
            tuple(self._role(framework, entry) for entry in self._tables(content, "role")),
            tuple(self._phase(framework, entry) for entry in self._tables(content, "phase")),
            self._globs(iteration, "steps"),
            (self._regex(_FIRST_STEP, first_step, "first"),) if first_step else (),
            (self._regex(_RANK, rank, "rank"),) if rank else (),
            self._globs(self._table(content, "kernels"), "communication"),
        )

    def _parsed(self) -> dict[str, Any]:
        try:
            return tomllib.loads(self._text)
        except tomllib.TOMLDecodeError as error:
            raise BadRules(self._path, f"it is no TOML: {error}.", "Mend it there.") from None

    def _role(self, framework: str, entry: dict[str, Any]) -> RoleRule:
        role = self._one_of(entry, "role", ROLES)
        kinds = (self._globs(entry, key) for key in ("ranges", "processes", "files"))
        return RoleRule(framework, role, *kinds)

    def _phase(self, framework: str, entry: dict[str, Any]) -> PhaseRule:
        return PhaseRule(
            framework, self._one_of(entry, "phase", PHASES), self._globs(entry, "ranges")
        )

    def _one_of(self, entry: dict[str, Any], key: str, words: tuple[str, ...]) -> str:
        word = self._text_of(entry, key, "")
        if word not in words:
            raise self._bad(key, f"{word!r} is none of {', '.join(words)}", word)
        return word

    def _globs(self, entry: dict[str, Any], key: str) -> Pattern:
        globs = entry.get(key, [])
        if not isinstance(globs, list | tuple) or not all(isinstance(g, str) for g in globs):
            raise self._bad(key, problem="no list of texts")
        return Pattern(tuple(globs))

    def _regex(self, key: str, text: str, group: str) -> re.Pattern[str]:
        try:
            pattern = re.compile(text)
        except re.error as error:
            raise self._bad(key, f"it is no regular expression: {error}") from None
        if group not in pattern.groupindex:
            raise self._bad(key, f"{text!r} has no group (?P<{group}>...)")
        return pattern

    def _text_of(self, entry: dict[str, Any], key: str, default: str) -> str:
        value = entry.get(key, default)
        if not isinstance(value, str):
            raise self._bad(key, problem="it has to be a text")
        return value

    def _table(self, content: dict[str, Any], key: str) -> dict[str, Any]:
        table = content.get(key, {})
        if not isinstance(table, Mapping):
            raise self._bad(key, f"it has to be a table [{key}]")
        self._check(table, key)
        return dict(table)

    def _tables(self, content: dict[str, Any], key: str) -> list[dict[str, Any]]:
        tables = content.get(key, [])
        if not isinstance(tables, list | tuple) or not all(isinstance(t, Mapping) for t in tables):
            raise self._bad(key, f"it has to be a list of tables [[{key}]]")
        for table in tables:
            self._check(table, key)
        return [dict(table) for table in tables]

    def _check(self, table: Mapping[str, Any], kind: str) -> None:
        for key in table:
            if key not in _KEYS[kind]:
                raise self._bad(key, f"unknown; there are {', '.join(sorted(_KEYS[kind]))}")

    def _bad(self, key: str, problem: str, near: str = "") -> BadRules:
        lines = self._text.splitlines()
        named = [n for n, line in enumerate(lines, 1) if re.match(rf"\W*{re.escape(key)}\b", line)]
        exact = [n for n in named if near and near in lines[n - 1]]
        where = f"line {(exact or named)[0]}, " if named else ""
        return BadRules(self._path, f"{where}key {key!r}: {problem}.", "Mend it there.")

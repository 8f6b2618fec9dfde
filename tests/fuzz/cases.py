"""A case: a whole report, what is done to it, and what stands beside it; all told by a number."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from tests.fuzz.files import BYTE_DAMAGE, PLACE_DAMAGE
from tests.fuzz.tables import TABLE_DAMAGE

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Case", "build"]

_NAMES = (
    *("worker_1.sqlite", "vllm_generation_worker_1:4_7.sqlite", "dtensor_policy_worker_2.sqlite"),
    *("a?mode=rw#b%2f.sqlite", "<script>'\".sqlite", "new\nline.sqlite", "byte\udcff.sqlite"),
    "x" * 240 + ".sqlite",
)
_ALTERED_MOST, _BYTES_MOST = 0.55, 0.9


@dataclass(frozen=True)
class Case:
    """A damaged report.

    Parameters
    ----------
    number : int
        Number of the case.
    base : Path
        The whole report that it was made of.
    path : Path
        The damaged one.
    asked : Path
        What is to be loaded: the report, or its folder.
    good : Path or None
        A whole report beside it.
    damage : tuple of str
        What was done, in order.
    """

    number: int
    base: Path
    path: Path
    asked: Path
    good: Path | None
    damage: tuple[str, ...]


def build(seed: int, number: int, bases: Sequence[Path], folder: Path) -> Case:
    """Make the report of a case in `folder`, which is empty."""
    random = Random(f"{seed}:{number}")
    base = random.choice(bases)
    path = folder / random.choice(_NAMES[:3] if random.random() < 0.8 else _NAMES)
    shutil.copyfile(base, path)
    damage = _choose(random)
    for name in damage:
        (TABLE_DAMAGE | BYTE_DAMAGE | PLACE_DAMAGE)[name](path, random)
    good = None
    if random.random() < 0.3:
        good = folder / "good.sqlite"
        shutil.copyfile(bases[base == bases[0]], good)
    whole_folder = good is not None or "folder_that_holds_itself" in damage
    return Case(number, base, path, folder if whole_folder else path, good, damage)


def _choose(random: Random) -> tuple[str, ...]:
    kind = random.random()
    if kind < _ALTERED_MOST:
        return tuple(random.choices(list(TABLE_DAMAGE), k=random.choice([1, 1, 2, 3])))
    if kind < _BYTES_MOST:
        before = random.choices(list(TABLE_DAMAGE), k=random.choice([0, 0, 0, 1]))
        return (*before, *random.choices(list(BYTE_DAMAGE), k=random.choice([1, 1, 2])))
    return (random.choice(list(PLACE_DAMAGE)),)

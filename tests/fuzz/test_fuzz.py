"""A short run of the fuzzing harness, and what it must notice."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING

import pytest

from tests.fuzz.bases import gather
from tests.fuzz.cases import build
from tests.fuzz.files import BYTE_DAMAGE, PLACE_DAMAGE
from tests.fuzz.run import Tally, run_cases
from tests.fuzz.tables import TABLE_DAMAGE

if TYPE_CHECKING:
    from pathlib import Path

CASES = 60
WHOLE = "written-3.20.2-whole.sqlite"


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bases")
    folder.chmod(0o755)
    for number, path in enumerate(gather(folder)):
        if number % 8 and path.name != WHOLE:  # each is drawn once, whole, before it is damaged
            path.unlink()
    return folder


@pytest.mark.slow
def test_damaged_reports_end_in_an_error_that_names_them_or_in_a_chart(
    bases: Path, tmp_path: Path
) -> None:
    tally = run_cases(0, range(CASES), bases, tmp_path)
    assert tally.failures == []
    assert tally.outcomes.total() == CASES
    assert set(tally.outcomes) == {"refused", "told", "same", "changed"}


@pytest.mark.parametrize(
    ("fault", "told"),
    [
        ("raise ValueError('not ours')", "ValueError at "),
        ("import time; time.sleep(60)", "hung: more than 2 s"),
        ("import os; os.abort()", "died with status"),
        ("whole = bytearray(3 << 29); whole[::4096] = b'x' * len(whole[::4096])", "MemoryError"),
    ],
)
def test_what_crashes_hangs_or_eats_memory_is_noticed_and_the_next_case_runs(
    bases: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: str, told: str
) -> None:
    monkeypatch.setattr("tests.fuzz.run.SECONDS", 2.0)
    monkeypatch.setenv("RLVIZ_FUZZ_FAULT", fault)
    tally = run_cases(0, [7, 8], bases, tmp_path)
    assert len(tally.failures) == 2
    assert all(told in failure["detail"] for failure in tally.failures)


def test_a_case_is_the_same_every_time(bases: Path, tmp_path: Path) -> None:
    reports = sorted(bases.glob("*.sqlite"))
    for number in range(30):
        made = []
        for place in ("one", "other"):
            folder = tmp_path / f"{place}-{number}"
            folder.mkdir()
            case = build(0, number, reports, folder)
            content = case.path.read_bytes() if case.path.is_file() else b""
            made.append((case.damage, case.base, case.path.name, content))
        assert made[0] == made[1]


def test_every_kind_of_damage_changes_a_report(bases: Path, tmp_path: Path) -> None:
    whole = (bases / WHOLE).read_bytes()
    for name, damage in (TABLE_DAMAGE | BYTE_DAMAGE).items():
        changed = False
        for seed in range(8):
            folder = tmp_path / f"{name}-{seed}"
            folder.mkdir()
            path = folder / "w.sqlite"
            path.write_bytes(whole)
            damage(path, Random(seed))
            changed |= path.read_bytes() != whole or len(list(folder.iterdir())) > 1
        assert changed, name
    assert len(PLACE_DAMAGE) == 9


def test_a_tally_counts_by_outcome_and_by_damage() -> None:
    tally = Tally()
    tally.add({"case": 1, "damage": ["a", "a"], "outcome": "failed", "detail": "x"})
    tally.add({"case": 2, "damage": ["a"], "outcome": "same", "seconds": 0.5, "peak": 7})
    assert tally.outcomes == {"failed": 1, "same": 1}
    assert tally.by_damage == {"a": {"failed": 1, "same": 1}}
    assert [failure["case"] for failure in tally.failures] == [1]
    assert (tally.slowest_s, tally.largest) == (0.5, 7)

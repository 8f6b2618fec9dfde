"""Damage reports by the thousand, by hand: ``python -m tests.fuzz --cases 10000 --seed 0``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.bases import gather
from tests.fuzz.cases import build
from tests.fuzz.run import Tally, run_cases


def main() -> int:
    """Run cases and tell what became of them; 1 if one failed."""
    asked = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    asked.add_argument("--cases", type=int, default=1000, help="how many")
    asked.add_argument("--first", type=int, default=0, help="number of the first")
    asked.add_argument("--seed", type=int, default=0)
    asked.add_argument("--log", type=Path, help="file for a line of JSON a case")
    asked.add_argument("--keep", type=Path, help="only make the first case, in this new folder")
    given = asked.parse_args()
    with TemporaryDirectory(prefix="rlviz-fuzz-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # an unreadable file is read by somebody else
        (folder / "bases").mkdir()
        bases = gather(folder / "bases")
        if given.keep:
            given.keep.mkdir()
            print(build(given.seed, given.first, bases, given.keep.absolute()))
            return 0
        numbers = range(given.first, given.first + given.cases)
        tally = run_cases(given.seed, numbers, folder / "bases", folder / "work", given.log)
    _tell(tally)
    return 1 if tally.failures else 0


def _tell(tally: Tally) -> None:
    for failure in tally.failures:
        print(f"case {failure['case']}: {', '.join(failure['damage'])}: {failure['detail']}")
    print(f"{tally.outcomes.total()} cases: {dict(tally.outcomes)}")
    slowest = f"slowest {tally.slowest_s:.1f} s, most of a processor {tally.worked_s:.1f} s"
    print(f"{slowest}, most memory {tally.largest >> 20} MiB")
    for damage, outcomes in sorted(tally.by_damage.items()):
        print(f"  {damage}: {dict(outcomes)}")


if __name__ == "__main__":
    sys.exit(main())

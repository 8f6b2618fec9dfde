"""What tells one state of rlviz's code from another."""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import rlviz

if TYPE_CHECKING:
    from types import ModuleType

__all__ = ["digest_of"]


@cache
def digest_of(package: ModuleType) -> str:
    """Tell the code and the rules of a package: another state of it may make something else."""
    digest = hashlib.sha256(rlviz.__version__.encode())
    for folder in package.__path__:
        for suffix in ("*.py", "*.toml"):
            for source in sorted(Path(folder).rglob(suffix)):
                digest.update(source.read_bytes())
    return digest.hexdigest()

"""Where rlviz may write: its cache folder, and nowhere else."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Folder for what can be made again: ``RLVIZ_CACHE_DIR``, else the user's cache folder.

    Returns
    -------
    Path
        It need not exist yet.
    """
    chosen = os.environ.get("RLVIZ_CACHE_DIR")
    return Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("rlviz")

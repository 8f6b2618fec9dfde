"""Where rlviz may write: its cache folder, and nowhere else."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import platformdirs

__all__ = ["cache_folder"]


def cache_folder() -> Path:
    """Folder for what can be made again: ``RLVIZ_CACHE_DIR``, else the user's cache folder.

    A user without a home has none: then it is a folder that goes with this process.

    Returns
    -------
    Path
        It need not exist yet.
    """
    chosen = os.environ.get("RLVIZ_CACHE_DIR")
    try:
        folder = Path(chosen).expanduser() if chosen else platformdirs.user_cache_path("rlviz")
    except RuntimeError:
        return _folder_of_this_process()
    # Older platformdirs leave "~" as it is: a folder in whatever is the current one.
    return _folder_of_this_process() if folder.parts[:1] == ("~",) else folder


@cache
def _folder_of_this_process() -> Path:
    folder = tempfile.mkdtemp(prefix="rlviz-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)

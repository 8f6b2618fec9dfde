"""What is drawn, and the three ways of drawing it."""

from __future__ import annotations

import os


def _import_bokeh() -> None:
    """Import Bokeh where there is no home, which it looks for its settings in."""
    os.environ["HOME"] = os.devnull
    try:
        import bokeh  # noqa: F401
    finally:
        del os.environ["HOME"]


if os.path.expanduser("~") == "~":  # noqa: PTH111  - pathlib's raises an error where there is none
    _import_bokeh()

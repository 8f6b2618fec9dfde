"""One timeline of a whole RL post-training run, from the nsys reports of every worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlviz.api import compare, load, show
    from rlviz.run.run import Run
    from rlviz.view.comparison import Comparison
    from rlviz.view.timeline import Timeline

__version__ = "0.1.0"

__all__ = ["Comparison", "Run", "Timeline", "__version__", "compare", "load", "show"]

_HOMES = {
    "Comparison": "rlviz.view.comparison",
    "Run": "rlviz.run.run",
    "Timeline": "rlviz.view.timeline",
    "compare": "rlviz.api",
    "load": "rlviz.api",
    "load_ipython_extension": "rlviz.magics",
    "show": "rlviz.api",
    "unload_ipython_extension": "rlviz.magics",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  - a module's __getattr__ returns anything
    # Bokeh and polars take a second to import; `import rlviz` must not.
    if name in _HOMES:
        from importlib import import_module

        return getattr(import_module(_HOMES[name]), name)
    message = f"module {__name__!r} has no attribute {name!r}"
    raise AttributeError(message)


def __dir__() -> list[str]:
    return __all__

"""Run the notebook on a fresh simulated run, and keep what its cells show.

Widgets are left out: without a kernel they are dead, and the figure beside them is not.
"""

from __future__ import annotations

import hashlib
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).with_name("E2E_Timeline.ipynb")
_WIDGET = "application/vnd.jupyter.widget-view+json"


def digest(notebook: nbformat.NotebookNode) -> str:
    """Give a hash of the code: outputs with another one are those of other cells."""
    code = "\0".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    return hashlib.sha256(code.encode()).hexdigest()[:16]


def execute(path: Path = NOTEBOOK) -> None:
    """Run the notebook at `path` in an empty folder, and write its outputs into it."""
    notebook: Any = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook,
            timeout=600,
            kernel_name="python3",
            resources=resources,
            store_widget_state=False,
            record_timing=False,
        )
        client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [one for one in cell.outputs if _WIDGET not in one.get("data", {})]
    if any(o.get("name") == "stderr" for cell in notebook.cells for o in cell.get("outputs", [])):
        sys.exit("a cell wrote to stderr: the outputs are not kept")
    notebook.metadata.pop("widgets", None)
    # Where it ran is nobody's business, and would change with every machine.
    notebook.metadata.pop("language_info", None)
    notebook.metadata["outputs_of"] = digest(notebook)
    nbformat.write(notebook, path)


if __name__ == "__main__":
    execute()

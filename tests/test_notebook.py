"""The notebook runs as it stands, and what it shows is true."""

from __future__ import annotations

import base64
import gzip
import json
import re
import runpy
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

from tests.shared import REPORTS, needs_shared

NOTEBOOK = Path(__file__).parents[1] / "notebooks" / "E2E_Timeline.ipynb"
MARKED = 'REPORTS = "demo-reports"'

# Numbers of the run, asked for after the notebook's own cells, in its own kernel.
QUESTIONS = """
import json
busy = run.busy(by="row").join(run.rows.unique("row"), on="row")
busy = busy.group_by("gpu_uuid").agg((pl.col("end_ns") - pl.col("start_ns")).sum().alias("busy"))
print(json.dumps({
    "busy": dict(busy.iter_rows()),
    "iterations": run.iterations["iteration"].to_list(),
    "reports": len(run.reports),
    "window": timeline.window,
    "simulated": run.simulated,
}))
"""


def source() -> Any:
    return nbformat.read(NOTEBOOK, as_version=4)


def execute(notebook: Any, folder: Path) -> tuple[Any, dict[str, Any]]:
    """Run a copy of the notebook in `folder`; give it and the answers to `QUESTIONS`."""
    notebook.cells.append(nbformat.v4.new_code_cell(QUESTIONS))
    client = NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    client.execute()
    answers: dict[str, Any] = json.loads(notebook.cells[-1].outputs[0].text)
    return notebook, answers


def shown(notebook: Any, text: str) -> Any:
    """Outputs of the one cell that holds `text`."""
    (cell,) = (c for c in notebook.cells if c.cell_type == "code" and text in c.source)
    return cell.outputs


def test_its_outputs_are_those_of_its_cells() -> None:
    notebook = source()
    digest = runpy.run_path(str(NOTEBOOK.with_name("execute.py")))["digest"]
    assert notebook.metadata["outputs_of"] == digest(notebook), "run: make executed"
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == [*range(1, len(code) + 1)]
    assert {o.output_type for cell in code for o in cell.outputs} <= {
        "display_data",
        "execute_result",
    }


def test_its_chart_is_there_for_readers_without_a_kernel() -> None:
    (figure,) = shown(source(), "rlviz.show(")
    assert set(figure.data) == {"text/html", "image/png"}
    png = figure.data["image/png"]
    assert base64.b64decode(png).startswith(b"\x89PNG\r\n")
    assert f"base64,{png}" in figure.data["text/html"]
    packed = re.search('class="rlviz-packed">([^<]+)<', figure.data["text/html"])
    assert packed is not None
    page = gzip.decompress(base64.b64decode(packed[1])).decode()
    assert page.startswith("<!DOCTYPE html>")
    assert "SIMULATED" in page.upper()


def test_it_is_small_and_tells_nothing_of_the_machine_that_ran_it() -> None:
    notebook = source()
    assert NOTEBOOK.stat().st_size <= 1_500_000
    assert set(notebook.metadata) == {"kernelspec", "outputs_of"}
    assert all(cell.metadata == {} for cell in notebook.cells)
    (figure,) = shown(notebook, "rlviz.show(")
    packed = re.search('class="rlviz-packed">([^<]+)<', figure.data["text/html"])
    assert packed is not None
    page = gzip.decompress(base64.b64decode(packed[1])).decode()
    plain = [o for cell in notebook.cells for o in cell.get("outputs", []) if o is not figure]
    for text in (page, json.dumps(plain)):
        assert not re.search(r"/(home|root|tmp|Users|work)/|ipykernel_", text)


def test_one_marked_line_points_it_at_other_reports() -> None:
    code = [cell.source for cell in source().cells if cell.cell_type == "code"]
    (marked,) = (text for text in code if MARKED in text)
    assert marked.splitlines()[0].startswith("# >>> Your own run")
    assert sum('REPORTS = "' in text for text in code) == 1


@pytest.mark.slow
def test_it_simulates_a_run_and_shows_what_is_true_of_it(tmp_path: Path) -> None:
    notebook, answers = execute(source(), tmp_path)
    truth = json.loads((tmp_path / "demo-reports" / "truth.json").read_text("utf-8"))
    assert answers["simulated"] is True
    assert answers["reports"] == len(truth["reports"])
    assert answers["busy"] == pytest.approx(
        {uuid: gpu["whole_run"]["busy_ns"] for uuid, gpu in truth["gpus"].items()}, rel=1e-3
    )
    assert answers["iterations"] == [i["iteration"] for i in truth["iterations"]]
    chart, figure = shown(notebook, "rlviz.show(")
    assert "application/vnd.jupyter.widget-view+json" in chart.data
    assert set(figure.data) == {"text/html", "image/png"}
    assert "warning" not in str(shown(notebook, "run.diagnostics"))
    page = (tmp_path / "E2E_Timeline.html").read_text("utf-8")
    assert "SIMULATED" in page.upper()
    assert not [
        o for cell in notebook.cells for o in cell.get("outputs", []) if o.get("name") == "stderr"
    ]


@needs_shared
@pytest.mark.parametrize("run", ["rl-run-2023.4", "public"])
def test_it_runs_on_reports_of_ones_own(run: str, tmp_path: Path) -> None:
    notebook = source()
    for cell in notebook.cells:
        cell.source = cell.source.replace(MARKED, f"REPORTS = {str(REPORTS / run)!r}")
    notebook, answers = execute(notebook, tmp_path)
    assert answers["simulated"] is False
    assert answers["reports"] == len(list((REPORTS / run).glob("*.sqlite")))
    assert (tmp_path / "E2E_Timeline.html").exists()
    assert not (tmp_path / "demo-reports").exists()

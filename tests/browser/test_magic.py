"""The magic ``%rlviz`` in JupyterLab, with a real kernel: the chart, and completion."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rlviz.demo import write
from tests.browser.conftest import settle

if TYPE_CHECKING:
    from pathlib import Path

    from tests.browser.conftest import Opener

PATIENCE_MS = 120_000
COMPLETE = """async (code) => {
  const { kernel } = jupyterapp.shell.currentWidget.sessionContext.session;
  const reply = await kernel.requestComplete({ code, cursor_pos: code.length });
  const { cursor_start, matches } = reply.content;
  return matches.map((match) => code.slice(0, cursor_start) + match);
}"""


def test_it_shows_one_chart_at_the_iteration_and_completes(
    open_notebook: Opener, tmp_path: Path
) -> None:
    small: dict[str, Any] = {"hosts": 1, "policy_gpus": 2, "generation_gpus": 2}
    write(tmp_path / "my run", steps=3, kernels_per_gpu=600, **small)
    folder = json.dumps(str(tmp_path / "my run"))
    page = open_notebook("magic", "%load_ext rlviz", f"t = %rlviz {folder} --iteration 4", "t")
    page.wait_for_function(
        "() => document.querySelectorAll('[data-rlviz=painted]').length === 2", timeout=PATIENCE_MS
    )
    settle(page)
    windows = page.evaluate(
        "() => [...document.querySelectorAll('.rlviz')].map((root) => root.rlviz.window)"
    )
    # As the value of a later cell it is a new view of the same window.
    assert windows[0] == windows[1]
    start, end = windows[0]
    assert end - start < 60
    assert page.evaluate(COMPLETE, "t = %rlviz --it") == ["t = %rlviz --iteration"]
    typed = f'%rlviz "{tmp_path}/my'
    assert page.evaluate(COMPLETE, typed) == [f"{typed} run/"]

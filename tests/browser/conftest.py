"""A headless Chromium and a JupyterLab, one of each a session, and a watch over every page."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.view.page import page as html_of
from tests.view.scenes import scene

sync_api = pytest.importorskip("playwright.sync_api")

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

    from rlviz.view.timeline import Timeline

ROOT = Path(__file__).parents[2]
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")

# What JupyterLab itself writes to the console, by the start of the message.
JUPYTER_NOISE = ()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("no Chromium on the PATH: install Debian's package chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )
        yield browser
        browser.close()


@dataclass
class Watch:
    """What went wrong on a page: console errors, uncaught errors, requests that leave it."""

    allowed: tuple[str, ...]
    noise: tuple[str, ...]

    def __post_init__(self) -> None:
        self.found: list[str] = []

    def over(self, page: Page) -> Page:
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.found.append(f"uncaught: {error}"))
        page.on("request", self._request)
        return page

    def _console(self, message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(self.noise or ("\0",)):
            self.found.append(f"console: {message.text} {message.location}")

    def _request(self, request: Request) -> None:
        if not request.url.startswith((*self.allowed, "data:", "blob:")):
            self.found.append(f"request: {request.url}")


Opener = Callable[..., Any]


@contextmanager
def watched_page(
    browser: Browser,
    path: Path,
    text: str,
    *,
    width: int = 1400,
    height: int = 900,
    dark: bool = False,
    wait: bool = True,
    scripts: Sequence[str] = (),
) -> Iterator[Page]:
    """Open the text of a page from a file, with the network cut off; fail if anything was wrong.

    Parameters
    ----------
    browser, path, text
        Where to open it, the file to write, and the page.
    width, height, dark
        The window and the system's theme.
    wait : bool
        Whether to wait until the chart is painted.
    scripts : sequence of str
        What runs before the page.
    """
    path.write_text(text, encoding="utf-8")
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if dark else "light",
        offline=True,
    )
    watch = Watch((path.as_uri(),), ())
    for script in scripts:
        context.add_init_script(script)
    try:
        page = watch.over(context.new_page())
        page.goto(path.as_uri())
        if wait:
            page.wait_for_selector("[data-rlviz=painted]", timeout=30_000)
            settle(page)
        yield page
    finally:
        context.close()
    assert watch.found == []


@pytest.fixture(scope="module")
def shared_chart(
    browser: Browser, timeline: Timeline, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Page]:
    """Open the saved page of a module's `timeline`, with the events that it holds."""
    folder = tmp_path_factory.mktemp("page")
    text = timeline.save(folder / "saved.html").read_text("utf-8")
    with watched_page(browser, folder / "page.html", text) as opened:
        opened.wait_for_function(
            "() => document.querySelector('.rlviz').rlviz.detail.source !== undefined"
        )
        yield opened


@pytest.fixture(scope="module")
def eight_rows(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    path = tmp_path_factory.mktemp("chart") / "page.html"
    with watched_page(browser, path, html_of(scene(8))) as opened:
        yield opened


@pytest.fixture
def chart(eight_rows: Page) -> Page:
    """The chart of eight rows, as it was when it was opened."""
    eight_rows.mouse.move(2, 2)
    eight_rows.evaluate("() => document.activeElement.blur()")
    eight_rows.evaluate("() => document.querySelector('.rlviz').rlviz.reset()")
    settle(eight_rows)
    return eight_rows


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Opener]:
    """Open pages that a test has for itself."""
    with ExitStack() as stack:

        def open_page(text: str, **how: Any) -> Page:
            return stack.enter_context(watched_page(browser, tmp_path / "page.html", text, **how))

        yield open_page


def settle(page: Page) -> None:
    """Wait until what was asked for is painted: two frames."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => "
        "requestAnimationFrame(() => setTimeout(done, 60))))"
    )


@dataclass(frozen=True)
class Lab:
    """A JupyterLab that serves `folder`."""

    url: str
    token: str
    folder: Path


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    pytest.importorskip("jupyterlab")
    home = tmp_path_factory.mktemp("jupyter")
    folder = home / "notebooks"
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    for made in (folder, settings):
        made.mkdir(parents=True)
    # Without these JupyterLab asks whether it may fetch news, and looks for updates.
    (settings / "notification.jupyterlab-settings").write_text(
        json.dumps({"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True})
    )
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    token = secrets.token_hex(16)
    environment = os.environ | {
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JUPYTERLAB_SETTINGS_DIR": str(home / "settings"),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_TOKEN": token,
        "PYTHONPATH": str(ROOT),
    }
    options = {
        "ServerApp.ip": "127.0.0.1",
        "ServerApp.port": port,
        "ServerApp.port_retries": 0,
        "ServerApp.root_dir": folder,
        "ServerApp.allow_root": True,
        "LabApp.expose_app_in_browser": True,
    }
    with (home / "log").open("wb") as log:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", "--no-browser"]
            + [f"--{name}={value}" for name, value in options.items()],
            env=environment,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_up(f"{url}/api", server, home / "log")
        yield Lab(url, token, folder)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()


def _wait_until_up(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(300):
        if server.poll() is not None:
            pytest.fail(f"JupyterLab ended: {log.read_text()}")
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except OSError:
            time.sleep(0.2)
        else:
            return
    pytest.fail(f"JupyterLab does not answer: {log.read_text()}")


@pytest.fixture
def open_notebook(browser: Browser, lab: Lab) -> Iterator[Opener]:
    """Write cells to a notebook, open it in JupyterLab, and run them all."""
    nbformat: Any = pytest.importorskip("nbformat")

    with ExitStack() as stack:
        watches: list[Watch] = []

        def open_notebook(name: str, *cells: str, run: bool = True) -> Page:
            make = nbformat.v4
            notebook = make.new_notebook(cells=[make.new_code_cell(cell) for cell in cells])
            kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
            notebook.metadata["kernelspec"] = kernel
            nbformat.write(notebook, lab.folder / f"{name}.ipynb")
            # Tall: JupyterLab renders no cell that is out of sight.
            context = browser.new_context(viewport={"width": 1500, "height": 2600})
            stack.callback(context.close)
            watch = Watch((f"{lab.url}/",), JUPYTER_NOISE)
            watches.append(watch)
            page = watch.over(context.new_page())
            # A workspace of its own: JupyterLab opens again what another test had open.
            page.goto(f"{lab.url}/lab/workspaces/{name}/tree/{name}.ipynb?token={lab.token}")
            page.wait_for_function("() => globalThis.jupyterapp !== undefined", timeout=60_000)
            page.wait_for_function(
                "() => jupyterapp.shell.currentWidget?.sessionContext?.session?.kernel?.status"
                " === 'idle'",
                timeout=120_000,
            )
            if run:
                command(page, "notebook:run-all-cells")
            return page

        yield open_notebook
        found = [problem for watch in watches for problem in watch.found]
    assert found == []


def command(page: Page, name: str) -> None:
    """Start one of JupyterLab's commands; running cells is over only when they are."""
    page.evaluate("(name) => { void globalThis.jupyterapp.commands.execute(name); }", name)

"""A JupyterLab and a headless Chromium to measure in, as a reader of a notebook has them."""

from __future__ import annotations

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nbformat
from playwright.sync_api import sync_playwright

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from playwright.sync_api import Browser, Page

__all__ = ["chromium", "notebook"]

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_PATIENCE_MS = 600_000
_LAB_STARTS_S = 120.0


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start a headless Chromium that paints without a GPU."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        message = "no Chromium on the PATH"
        raise FileNotFoundError(message)
    with sync_playwright() as playwright:
        yield playwright.chromium.launch(
            executable_path=path, args=["--no-sandbox", "--disable-gpu"]
        )


@contextmanager
def notebook(browser: Browser, cells: Sequence[str], size: tuple[int, int]) -> Iterator[Page]:
    """Run `cells` in a JupyterLab of their own; gives its page, `size` pixels wide and high."""
    with tempfile.TemporaryDirectory() as home, _lab(Path(home)) as url:
        make: Any = nbformat.v4
        made = make.new_notebook(cells=[make.new_code_cell(cell) for cell in cells])
        made.metadata["kernelspec"] = {"name": "python3", "display_name": "Python 3"}
        nbformat.write(made, Path(home, "notebooks", "zoom.ipynb"))
        page = browser.new_page(viewport={"width": size[0], "height": size[1]})
        page.goto(url)
        page.wait_for_function(
            "() => globalThis.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel"
            "?.status === 'idle'",
            timeout=_PATIENCE_MS,
        )
        page.evaluate(
            "() => { void globalThis.jupyterapp.commands.execute('notebook:run-all-cells'); }"
        )
        page.wait_for_selector("[data-rlviz=painted]", timeout=_PATIENCE_MS)
        yield page


@contextmanager
def _lab(home: Path) -> Iterator[str]:
    """Start a JupyterLab with no settings of this machine; gives the address of the notebook."""
    folder, settings = home / "notebooks", home / "settings" / "@jupyterlab" / "apputils-extension"
    for made in (folder, settings):
        made.mkdir(parents=True)
    # Without these JupyterLab asks whether it may fetch news, and looks for updates.
    quiet = {"fetchNews": "false", "checkForUpdates": False, "doNotDisturbMode": True}
    (settings / "notification.jupyterlab-settings").write_text(json.dumps(quiet))
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
    }
    options = (
        "ServerApp.ip=127.0.0.1",
        f"ServerApp.port={port}",
        f"ServerApp.root_dir={folder}",
        "ServerApp.allow_root=True",
        "LabApp.expose_app_in_browser=True",
    )
    server = subprocess.Popen(
        [sys.executable, "-m", "jupyterlab", "--no-browser", *(f"--{one}" for one in options)],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        url = f"http://127.0.0.1:{port}"
        _wait_until_up(f"{url}/api", server)
        yield f"{url}/lab/tree/zoom.ipynb?token={token}"
    finally:
        server.terminate()
        server.wait()


def _wait_until_up(url: str, server: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + _LAB_STARTS_S
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=2).close()
        except (urllib.error.URLError, TimeoutError):
            time.sleep(0.2)
        else:
            return
    message = "JupyterLab did not start"
    raise RuntimeError(message)

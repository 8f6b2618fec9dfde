"""The static page, as text."""

from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from typing import Any

import pytest

from rlviz.view.bokehjs import bokeh_js
from rlviz.view.lens import lens_js, loader_js, page_js
from rlviz.view.page import page
from tests.view.scenes import empty, hostile, scene


class Elements(HTMLParser):
    """Collects every element with its attributes, and the text of scripts."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.scripts: list[tuple[dict[str, str | None], str]] = []
        self._script: dict[str, str | None] | None = None
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        self._script = dict(attrs) if tag == "script" else None

    def handle_data(self, data: str) -> None:
        if self._script is not None:
            self.scripts.append((self._script, data))

    def handle_endtag(self, tag: str) -> None:
        if tag == "script":
            self._script = None


def policy(elements: Elements) -> dict[str, list[str]]:
    (content,) = (
        attributes["content"]
        for tag, attributes in elements.elements
        if tag == "meta" and attributes.get("http-equiv") == "Content-Security-Policy"
    )
    assert content is not None
    return {words[0]: words[1:] for part in content.split(";") if (words := part.split())}


@pytest.mark.parametrize("make", [lambda: scene(2), hostile, empty])
def test_every_script_that_runs_is_allowed_by_its_hash_and_no_other(make: Any) -> None:
    elements = Elements(page(make()))
    allowed = policy(elements)
    running = [text for kind, text in elements.scripts if kind.get("type") != "application/json"]
    hashes = [
        f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
        for text in running
    ]
    assert allowed["script-src"] == hashes
    assert allowed["default-src"] == ["'none'"]
    assert allowed["img-src"] == ["data:", "blob:"]
    assert len(elements.scripts) == 4


@pytest.mark.parametrize("make", [lambda: scene(2), hostile])
def test_no_element_points_out_of_the_page(make: Any) -> None:
    for tag, attributes in Elements(page(make())).elements:
        assert tag in {
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "main",
            "div",
            "noscript",
            "script",
        }
        assert not attributes.keys() & {"src", "href", "srcset", "action", "data"}
        assert not any(name.startswith("on") for name in attributes)


def test_hostile_strings_stay_inside_their_data() -> None:
    text = page(hostile())
    assert "<img" not in text
    assert text.count("<script") == text.count("</script>") == 4
    text.encode()


def test_a_hostile_title_is_escaped() -> None:
    head = page(hostile()).split("</title>")[0]
    assert "&lt;/script&gt;" in head.split("<title>")[1]


def test_a_page_is_as_large_as_bokehjs_and_the_chart_need() -> None:
    assert len(page(scene(8))) - len(bokeh_js()) < 460_000


def test_the_page_says_what_it_needs_where_scripts_are_off() -> None:
    assert "<noscript>" in page(scene(2))


def test_no_script_of_ours_makes_code_or_markup_from_text() -> None:
    for script in (page_js(), loader_js()):
        for forbidden in (
            "eval(",
            "new Function",
            "innerHTML",
            "outerHTML",
            "insertAdjacentHTML",
            "document.write",
            "CustomJS",
        ):
            assert forbidden not in script


def test_the_assembled_modules_share_no_name() -> None:
    names = re.findall(r"^(?:async )?(?:function|class|const|let) (\w+)", page_js(), re.MULTILINE)
    assert len(names) == len(set(names))
    assert not re.search(r"^(import|export \w)", page_js(), re.MULTILINE)
    assert lens_js().rstrip().endswith("export { Chart, openLens };")


def test_a_widgets_own_module_stays_small() -> None:
    # every widget carries a copy of it in the saved notebook
    assert len(loader_js()) < 8_000

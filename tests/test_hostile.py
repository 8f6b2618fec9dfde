"""Strings of other people in everything that is made of a report, without a browser."""

from __future__ import annotations

import gzip
import json
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest

import rlviz
from rlviz.view.timeline import Timeline
from tests.hostile import HOSTILE, MARK, write_hostile

if TYPE_CHECKING:
    from pathlib import Path

# what no terminal, browser or reader should be given as it stands
UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b\u202e\u2066\u2028\u2029\ud800-\udfff\ufeff]")


@pytest.fixture(scope="module")
def timeline(tmp_path_factory: pytest.TempPathFactory) -> Timeline:
    return Timeline(rlviz.load(write_hostile(tmp_path_factory.mktemp("hostile"))))


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


def test_names_come_from_the_file_as_they_stand(timeline: Timeline) -> None:
    assert set(timeline.run.kernels()["name"]) == set(HOSTILE)
    assert set(HOSTILE) < set(timeline.run.ranges()["name"])


def test_no_string_becomes_an_element_of_the_page(timeline: Timeline, tmp_path: Path) -> None:
    text = timeline.save(tmp_path / "page.html").read_text("utf-8")
    tags = Tags(text).found
    assert {tag for tag, _ in tags} == {
        *("html", "head", "meta", "title", "style", "body", "main", "div", "noscript", "script")
    }
    assert len([tag for tag, _ in tags if tag == "script"]) == 5
    assert not [name for _, given in tags for name in given if name.startswith("on")]
    assert "x" * 10_000 not in text


def test_json_of_the_page_is_json(timeline: Timeline, tmp_path: Path) -> None:
    text = timeline.save(tmp_path / "page.html").read_text("utf-8")
    parts = re.findall(r'<script type="application/json" id="rlviz-(\w+)">(.*?)</script>', text)
    assert [name for name, _ in parts] == ["facts", "item", "held"]
    for _, content in parts:
        json.loads(content)


def seen(thing: Any) -> list[str]:
    """All texts of a value that came from JSON."""
    if isinstance(thing, str):
        return [thing]
    if isinstance(thing, dict):
        return [text for pair in thing.items() for part in pair for text in seen(part)]
    return [text for part in thing for text in seen(part)] if isinstance(thing, list) else []


def test_facts_of_the_widget_are_legible_and_cut(timeline: Timeline) -> None:
    parts = timeline._widget._parts
    texts = seen(json.loads(gzip.decompress(parts["facts"]())))
    assert any(MARK in text for text in texts)
    assert not [text for text in texts if UNSEEN.search(text)]
    assert max(map(len, texts)) < 1_000


@pytest.mark.parametrize("theme", ["light", "dark", "print"])
def test_a_figure_is_xml_without_code(timeline: Timeline, tmp_path: Path, theme: Any) -> None:
    content = timeline.save(tmp_path / "still.svg", theme=theme).read_bytes()
    root = ElementTree.fromstring(content)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not names & {"script", "image", "foreignObject", "a", "img", "iframe"}
    for element in root.iter():
        assert not [name for name in element.attrib if name.lower().startswith("on")]
        assert not [name for name in element.attrib if name.endswith("href")]
    assert not UNSEEN.search("".join(root.itertext()))


@pytest.mark.parametrize("kind", ["png", "pdf"])
def test_a_figure_of_every_kind_is_written(timeline: Timeline, tmp_path: Path, kind: str) -> None:
    assert timeline.save(tmp_path / f"still.{kind}").stat().st_size > 10_000


def test_tables_escape_names(timeline: Timeline) -> None:
    run = timeline.run
    for frame in (run.kernels(), run.ranges(), run.rows, run.reports, run.diagnostics):
        assert "<img" not in frame._repr_html_()
        assert "<script" not in frame._repr_html_()


def test_numbers_do_not_depend_on_names(timeline: Timeline) -> None:
    run = timeline.run
    busy = run.busy(by="row")
    total = sum((busy["end_ns"] - busy["start_ns"]).to_list())
    assert total == 2 * len(HOSTILE) * 20_000_000
    assert run.rows.height == 2


def test_messages_do_not_steer_a_terminal_or_break_a_line(timeline: Timeline) -> None:
    assert not UNSEEN.search(repr(timeline.run) + repr(timeline))

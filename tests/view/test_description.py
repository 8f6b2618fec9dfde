"""What a chart says in words, and what a page says of itself before it is opened."""

from __future__ import annotations

import html
import re
from dataclasses import replace

import rlviz
from rlviz.view.description import description_of
from rlviz.view.numbers import Numbers, numbers_of
from rlviz.view.page import page
from rlviz.view.trust import Trust
from tests.ranks import simulated
from tests.view.scenes import HOSTILE, empty, hatched, hostile, scene


def test_the_main_numbers_are_those_above_the_chart() -> None:
    base = replace(scene(8), simulated=True)
    told = description_of(base)
    assert told.startswith(f"{base.title}. {base.subtitle}. 8 rows over ")
    assert told.endswith("Simulated run, no measurement.")


def test_numbers_that_are_not_known_are_called_unknown() -> None:
    numbers = numbers_of(simulated().run)
    assert isinstance(numbers, Numbers)
    told = description_of(replace(scene(2), subtitle="1.0 s · overlap 3 %", numbers=numbers))
    assert "Unknown: exposed generation, bubbles." in told
    assert "Unknown" not in description_of(replace(scene(2), subtitle="1.0 s", numbers=None))


def test_rows_without_gpu_data_are_told() -> None:
    assert "without GPU data" in description_of(hatched())


def test_a_chart_of_nothing_says_no_more_than_that() -> None:
    assert "row" not in description_of(empty())


def meta(text: str, name: str) -> str:
    (found,) = re.findall(rf'<meta name="{name}" content="([^"]*)">', text)
    return html.unescape(found)


def test_a_page_names_its_numbers_and_its_maker_in_its_head() -> None:
    base = scene(8)
    text = page(base)
    assert meta(text, "description") == description_of(base)
    assert meta(text, "generator") == f"rlviz {rlviz.__version__}"


def test_hostile_texts_do_not_leave_the_head() -> None:
    told = replace(hostile(), trust=Trust(HOSTILE[0]), subtitle='"><script>' + HOSTILE[0])
    head = page(told).split("</head>")[0]
    assert "<script" not in head
    assert "&quot;&gt;" in meta(head.replace("&", "&amp;"), "description")

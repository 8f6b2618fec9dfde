"""Runs below each other, in the page and in JupyterLab: where they stand, what is said of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

import rlviz
from rlviz.demo import write
from tests.browser.conftest import settle

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

    from rlviz.levels.query import ZoomableRun
    from tests.browser.conftest import Opener

_SMALL: dict[str, Any] = {
    "hosts": 1,
    "policy_gpus": 2,
    "generation_gpus": 2,
    "kernels_per_gpu": 900,
}
_NAMES = ("before", "after")
_READY = "() => document.querySelector('.rlviz')?.rlviz?.detail?.source !== undefined"
_LENS = "document.querySelector('.rlviz').rlviz"
# What stands at a place in time, or is said of the iteration.
_STATE = f"""() => {{
    const {{ facts, marks, doc, chrome, window, detail }} = {_LENS};
    const sources = doc.get_model_by_name("main").renderers
        .filter((one) => /^(edge|lines-|brackets|caps)/.test(one.data_source.name))
        .map(({{ data_source: s }}) =>
            ["left", "right", "x", "x0", "x1"].filter((key) => s.columns().includes(key))
            .map((key) => Array.from(s.get_array(key))));
    const strips = doc.get_model_by_name("overview").renderers.map((one) =>
        Array.from(one.data_source.get_array("x")));
    const {{ brackets, bubbles, remarks, iterations, limits }} = facts;
    const inside = (at) => Math.min(Math.max(at, limits[0]), limits[1]);
    const shades = facts.shades
        .map((one) => ({{ ...one, left: inside(one.left), right: inside(one.right) }}))
        .filter(({{ left, right }}) => left < right - 1e-9);
    const lines = facts.lines.map(({{ at }}) => at).sort((a, b) => a - b);
    const {{ start, end }} = doc.get_model_by_name("overview").x_range;
    const overlays = Object.fromEntries(["left", "right", "row"].map((key) =>
        [key, Array.from(marks.overlays[key])]));
    return {{ window, sources, strips, brackets, lines, shades, bubbles, remarks, iterations,
        limits, start, end, overlays,
        strips_of_detail: detail.picture?.strips.map(({{ row, start }}) => [row, start]),
        events: detail.picture && Array.from(detail.picture.events.left),
        subtitle: chrome.subtitle.textContent, told: chrome.aligned.textContent,
        label: chrome.plot.getAttribute("aria-label"),
        headings: chrome.headings.map(({{ box }}) => box.title),
    }};
}}"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Folder of two small runs, `before` with a long tail."""
    made = tmp_path_factory.mktemp("compared")
    write(made / "before", long_tail=True, **_SMALL)
    write(made / "after", **_SMALL)
    return made


@pytest.fixture(scope="module")
def runs(folder: Path) -> dict[str, ZoomableRun]:
    return {name: rlviz.load(folder / name) for name in _NAMES}


def saved(runs: dict[str, ZoomableRun], iteration: int, folder: Path) -> str:
    path = rlviz.Comparison(runs, iteration).save(folder / f"{iteration}.html")
    return path.read_text("utf-8")


def opened(open_page: Opener, text: str, **how: Any) -> Page:
    page: Page = open_page(text, **how)
    page.wait_for_function(_READY)
    return page


def rested(page: Page) -> None:
    """Wait until the page has drawn all detail of its window."""
    page.wait_for_function(f"() => !{_LENS}.detail.wanting() && {_LENS}.detail.waits === undefined")
    settle(page)


def same(one: Any, other: Any) -> bool:
    """Whether two states are the same: times are sums of floats."""
    if isinstance(one, float | int) and isinstance(other, float | int):
        return abs(one - other) < 1e-6
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


def test_a_picked_iteration_begins_at_second_0_in_every_run(
    runs: dict[str, ZoomableRun], open_page: Opener, tmp_path: Path
) -> None:
    page = opened(open_page, saved(runs, 4, tmp_path))
    picker = page.locator("select[aria-label=iteration]")
    assert picker.input_value() == "4"
    offered = picker.locator("option:not([hidden])").all_text_contents()
    assert [text.removesuffix(" (partial)") for text in offered] == [
        "all iterations",
        *(f"iteration {number}" for number in (3, 4, 5, 6, 7)),
    ]
    picker.select_option("6")
    rested(page)
    state = page.evaluate(_STATE)
    other = opened(open_page, saved(runs, 6, tmp_path))
    # Of its own iteration the first view is enough, as long as nobody looks closer.
    other.evaluate(f"() => {{ {_LENS}.alignment.drawn = null; {_LENS}.detail.moved(); }}")
    rested(other)
    expected = other.evaluate(_STATE)
    assert state["told"] == "second 0 is the start of iteration 6 in each run"
    assert [key for key in state if not same(state[key], expected[key])] == []
    plots = [one.locator(".rlviz-plot").screenshot() for one in (page, other)]
    assert plots[0] == plots[1]


def test_keys_step_through_the_iterations_of_a_comparison(
    runs: dict[str, ZoomableRun], open_page: Opener, tmp_path: Path
) -> None:
    page = opened(open_page, saved(runs, 4, tmp_path))
    picker = page.locator("select[aria-label=iteration]")
    page.locator(".rlviz").focus()
    for key, number in (("]", "5"), ("]", "6"), ("]", "7"), ("]", "7"), ("[", "6")):
        page.keyboard.press(key)
        settle(page)
        assert picker.input_value() == number
        at = page.evaluate(f"() => {_LENS}.facts.lines.map(({{ at }}) => Math.abs(at))")
        assert sorted(at)[:2] == pytest.approx([0.0, 0.0], abs=1e-8)
    page.keyboard.press("w")
    settle(page)
    assert picker.input_value() == ""
    # First back to the whole of it, then on.
    page.keyboard.press("]")
    settle(page)
    assert picker.input_value() == "6"
    picker.select_option("all")
    rested(page)
    limits = page.evaluate(f"() => {_LENS}.facts.limits")
    assert page.evaluate(f"() => {_LENS}.window") == pytest.approx(limits)


def test_an_iteration_beside_the_first_view_is_not_drawn_as_idle(
    runs: dict[str, ZoomableRun], open_page: Opener, tmp_path: Path
) -> None:
    page = opened(open_page, saved(runs, 4, tmp_path))
    page.evaluate(f"() => {_LENS}.moveBy(1)")
    rested(page)
    seen = page.evaluate(
        f"""() => {{
            const lens = {_LENS};
            const [start, end] = lens.window;
            const at = (row, share) => lens.detail.at(row, start + share * (end - start), 1);
            return lens.facts.rows.map(({{ row }}) =>
                [0.1, 0.3, 0.5, 0.7, 0.9].some((share) => at(row, share) != null));
        }}"""
    )
    assert seen == [True] * len(seen)


@pytest.mark.parametrize("width", [1400, 1000, 800, 360])
def test_what_is_said_of_each_run_is_never_cut_off(
    width: int, runs: dict[str, ZoomableRun], open_page: Opener, tmp_path: Path
) -> None:
    page = opened(open_page, saved(runs, 4, tmp_path), width=1400)
    page.set_viewport_size({"width": width, "height": 900})
    settle(page)
    comparison = rlviz.Comparison(runs, 4)
    for heading, box in zip(
        comparison.scene.headings, page.locator(".rlviz-heading").all(), strict=True
    ):
        assert box.get_attribute("title") == heading.text
        shown = box.inner_text()
        words = shown.removesuffix(" · …").split(" · ")
        assert words == heading.text.split(" · ")[: len(words)]
        assert len(words) >= (4 if width >= 500 else 1)
        inside = box.evaluate(
            """(box) => {
                const words = box.firstChild;
                const [own, around] = [words, box].map((one) => one.getBoundingClientRect());
                const page = document.documentElement.clientWidth;
                return words.scrollWidth <= words.clientWidth + 1
                    && words.scrollHeight <= words.clientHeight + 1
                    && own.top >= around.top - 1 && own.right <= page + 1;
            }"""
        )
        assert inside, shown
    headline = page.locator(".rlviz-subtitle")
    assert headline.inner_text().replace("\n", " ") == comparison.scene.subtitle
    assert headline.evaluate("(one) => one.scrollWidth <= one.clientWidth + 1")


def test_the_controls_of_a_notebook_align_the_runs(
    folder: Path, runs: dict[str, ZoomableRun], open_notebook: Opener
) -> None:
    named = ", ".join(f"{name}={str(folder / name)!r}" for name in _NAMES)
    page = open_notebook("compared", f"import rlviz\nboth = rlviz.compare({named})", "print(both)")
    page.wait_for_function(_READY, timeout=90_000)
    picker = page.locator(".widget-dropdown select").first
    picker.select_option("iteration\N{NO-BREAK SPACE}6")
    page.wait_for_function(f"() => {_LENS}.alignment.number === 6")
    rested(page)
    expected = rlviz.Comparison(runs, 6)
    assert page.locator(".rlviz-subtitle").inner_text() == expected.scene.subtitle
    assert page.evaluate(f"() => {_LENS}.window") == pytest.approx(expected.window)
    assert page.evaluate(f"() => {_LENS}.detail.told ?? ''") == ""
    # Each row's refit, which ends as the iteration begins, is drawn as one.
    seen = page.evaluate(
        f"""() => {_LENS}.facts.rows.map(({{ row }}) => {{
            const {{ says, color }} = {_LENS}.detail.at(row, -0.05, 0) ?? {{}};
            return says ?? {_LENS}.facts.colors[color];
        }})"""
    )
    assert seen == ["refit"] * len(seen)
    # By its keys too, and the kernel hears of it.
    page.locator(".rlviz").focus()
    page.keyboard.press("]")
    page.wait_for_function(f"() => {_LENS}.alignment.number === 7")
    shown = "(one) => one.selectedOptions[0]?.textContent"
    page.wait_for_function(
        "() => document.querySelector('.widget-dropdown select').selectedOptions[0]?.textContent"
        ".endsWith('7')"
    )
    assert picker.evaluate(shown).split() == ["iteration", "7"]

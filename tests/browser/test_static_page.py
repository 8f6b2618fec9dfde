"""The static page in a real browser, opened from a file with the network cut off."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.view.page import page
from rlviz.view.palette import COLORS, SURFACE
from tests.browser.charts import LENS, hover, lens, pixel, place, rgb, screenshot, window
from tests.browser.conftest import settle
from tests.view.scenes import HOSTILE, empty, hatched, hostile, scene

if TYPE_CHECKING:
    from playwright.sync_api import Page

    from tests.browser.conftest import Opener


def test_bars_are_painted_in_the_colours_of_their_phase(chart: Page) -> None:
    for row, at, color in ((0, 5.0, "generation"), (4, 4.0, "logprobs"), (5, 12.0, "training")):
        # a range of the same colour lies over it: rounding
        assert pixel(chart, *place(chart, at, row, 0.75)) == pytest.approx(
            rgb(COLORS[color]), abs=3
        )


def test_idle_time_is_left_blank(chart: Page) -> None:
    assert pixel(chart, *place(chart, 25.0, 0)) == rgb(SURFACE["light"]["band"])


def test_neighbouring_bars_leave_no_seam(open_page: Opener) -> None:
    opened = open_page(page(scene(8)), width=1237)
    image = screenshot(opened)
    x0, y = place(opened, 1.0, 0, 0.9)
    x1, _ = place(opened, 10.0, 0, 0.9)
    colors = {image.getpixel((x, int(y))) for x in range(int(x0), int(x1))}
    assert len(colors) == 1


def test_a_bar_far_narrower_than_a_pixel_is_still_seen(open_page: Opener) -> None:
    base = scene(2, buckets=3, iterations=1)
    bars = replace(
        base.bars, **{name: column[:1].copy() for name, column in vars(base.bars).items()}
    )
    bars.left[0], bars.right[0] = 10.0, 10.000002
    opened = open_page(page(replace(base, bars=bars, lines=())))
    x, y = place(opened, 10.0, 0, 0.95)
    image = screenshot(opened)
    seen = {image.getpixel((int(x) + by, int(y))) for by in (-2, -1, 0, 1, 2)}
    assert rgb(COLORS["generation"]) in seen


def test_hover_tells_a_ranges_name_its_length_its_place_and_its_row(chart: Page) -> None:
    told = hover(chart, 33.0 + 3.0 + 10.0, 5, 0.02)
    assert "dtensor_policy_worker_v2/train" in told
    assert "17.5 s" in told
    assert "at 42.000000 s" in told
    assert "2025-06-15 15:07:22.123456 UTC" in told
    assert "GPU 1 policy 1" in told
    assert "node-1" in told
    assert "iteration 4" in told
    assert "NVIDIA H100" in told


def test_hover_tells_a_nested_ranges_share_of_its_parent(chart: Page) -> None:
    told = hover(chart, 12.0, 5)
    assert told.startswith("microbatch")
    assert "12 % of its parent" in told


def test_an_aggregate_says_that_it_is_one(chart: Page) -> None:
    told = hover(chart, 5.0, 0, 0.9)
    assert re.search(r"^412 events in this bar, busy share (5|6|7)\d %$", told, re.MULTILINE)
    assert "mostly flash_fwd_splitkv_kernel (83 %)" in told


def test_a_single_event_says_its_own_length(chart: Page) -> None:
    told = hover(chart, 28.8, 5, 0.9)
    assert told.startswith("ncclDevKernel_AllGather_RING_LL\n500 ms")
    assert "events in this bar" not in told


def test_hover_tells_what_a_shade_means_and_nothing_of_idle_time(chart: Page) -> None:
    assert "profiler edge" in hover(chart, 95.5, 0)
    assert hover(chart, 25.0, 0) == ""


def test_hover_beside_the_frame_tells_of_the_row(chart: Page) -> None:
    x, y = place(chart, 0.0, 1)
    chart.mouse.move(x - 60, y)
    chart.mouse.move(x - 50, y)
    told = chart.locator(".rlviz-tip").inner_text()
    assert "GPU 1 vllm 1" in told
    assert "generation pool" in told
    assert "busy 51 % of the captured time" in told


def test_the_wheel_zooms_along_time_only_about_the_pointer(chart: Page) -> None:
    rows = lens(chart, "[lens.main.y_range.start, lens.main.y_range.end]")
    chart.mouse.move(*place(chart, 48.0, 3))
    chart.mouse.wheel(0, -240)
    settle(chart)
    start, end = window(chart)
    assert 0.0 < start < 48.0 < end < 96.0
    assert (48.0 - start) / (end - start) == pytest.approx(0.5, abs=0.01)
    assert lens(chart, "[lens.main.y_range.start, lens.main.y_range.end]") == rows


def test_no_zooming_out_goes_beyond_what_was_captured(chart: Page) -> None:
    chart.mouse.move(*place(chart, 10.0, 3))
    for _ in range(12):
        chart.mouse.wheel(0, 400)
    settle(chart)
    assert window(chart) == (-12.0, 98.0)


def test_a_drag_moves_and_a_double_click_goes_back(chart: Page) -> None:
    lens(chart, "lens.zoom(30, 60)")
    settle(chart)
    x, y = place(chart, 45.0, 3)
    chart.mouse.move(x, y)
    chart.mouse.down()
    chart.mouse.move(x - 100, y, steps=4)
    chart.mouse.up()
    settle(chart)
    start, end = window(chart)
    assert start > 31.0
    assert end - start == pytest.approx(30.0)
    chart.mouse.dblclick(x, y)
    settle(chart)
    assert window(chart) == (0.0, 96.0)


def test_keys_move_and_zoom_only_while_the_chart_has_the_focus(chart: Page) -> None:
    chart.keyboard.press("w")
    assert window(chart) == (0.0, 96.0)
    chart.locator(".rlviz").focus()
    chart.keyboard.press("w")
    start, end = window(chart)
    assert end - start == pytest.approx(96.0 * 0.8)
    chart.keyboard.press("d")
    assert window(chart)[0] == pytest.approx(min(start + (end - start) * 0.2, 98 - (end - start)))
    chart.keyboard.press("a")
    chart.keyboard.press("S")
    assert window(chart)[1] - window(chart)[0] == pytest.approx(96.0)


def test_brackets_step_through_iterations(chart: Page) -> None:
    chart.locator(".rlviz").focus()
    chart.keyboard.press("]")
    assert window(chart) == (31.0, 62.0)  # the one in the middle of the first view
    chart.keyboard.press("]")
    assert window(chart) == (62.0, 93.0)
    chart.keyboard.press("]")
    assert window(chart) == (62.0, 93.0)
    chart.keyboard.press("[")
    chart.keyboard.press("[")
    assert window(chart) == (0.0, 31.0)
    assert chart.get_by_label("iteration", exact=True).input_value() == "3"


def test_buttons_step_and_reset(chart: Page) -> None:
    chart.get_by_role("button", name="▶").click()
    assert window(chart) == (31.0, 62.0)
    chart.get_by_role("button", name="reset").click()
    assert window(chart) == (0.0, 96.0)


@pytest.mark.parametrize(
    ("span", "ticks"),
    [
        ((30.0, 60.0), ("", "30 s", "32 s")),
        ((30.0, 30.4), ("30 s +", "0 ms", "50 ms")),
        ((30.1, 30.1004), ("30.100 s +", "0 us", "50 us")),
        ((30.5, 30.5000004), ("30.500000 s +", "0 ns", "50 ns")),
    ],
)
def test_ticks_take_finer_units_as_one_zooms_in(
    chart: Page, span: tuple[float, float], ticks: tuple[str, str, str]
) -> None:
    told = chart.evaluate(
        f"""async ([start, end]) => {{
          const lens = {LENS};
          lens.zoom(start, end);
          await new Promise((done) => setTimeout(done, 200));
          const axis = lens.main.below[0];
          const view = lens.views.find_one(axis);
          const [[...at]] = view.tick_coords.major;
          return [lens.chrome.base.textContent, ...axis.formatter.doFormat(at).slice(0, 2)];
        }}""",
        list(span),
    )
    assert tuple(told) == ticks


def test_labels_of_a_row_never_overlap_or_leave_their_range(chart: Page) -> None:
    for start, end in ((0.0, 96.0), (31.0, 62.0), (42.0, 50.0), (43.0, 43.5)):
        lens(chart, f"lens.zoom({start}, {end})")
        settle(chart)
        boxes = lens(
            chart,
            """(() => {
              const { x, y, text } = lens.labels.ranges.data;
              const scale = lens.frame.width / (lens.window[1] - lens.window[0]);
              return x.map((at, i) => [y[i] * lens.facts.row_px, (at - lens.window[0]) * scale,
                (at - lens.window[0]) * scale + 4 + lens.labels.small.width(text[i])]);
            })()""",
        )
        assert boxes
        width = lens(chart, "lens.frame.width")
        for (y0, left0, right0), (y1, left1, right1) in combinations(boxes, 2):
            assert abs(y0 - y1) >= 12 or right0 <= left1 or right1 <= left0
        assert all(left >= 0 and right <= width for _, left, right in boxes)


def test_a_range_that_began_before_the_view_is_still_labelled(chart: Page) -> None:
    lens(chart, "lens.zoom(45, 46)")
    settle(chart)
    assert "dtensor_policy_worker_v2/train  [17.5 s]" in lens(chart, "lens.labels.ranges.data.text")


def test_ranges_of_a_hidden_domain_come_when_asked_for(chart: Page) -> None:
    at = (29.3, 0, 0.2)
    assert "ncclAllGather" not in hover(chart, *at)
    chip = chart.get_by_role("button", name="NCCL")
    chip.click()
    assert chip.get_attribute("aria-pressed") == "true"
    assert "ncclAllGather" in hover(chart, *at)
    chip.click()
    assert "ncclAllGather" not in hover(chart, *at)


def test_the_chart_follows_the_readers_theme(chart: Page) -> None:
    idle = (25.0, 0)
    for theme in ("dark", "light"):
        chart.emulate_media(color_scheme=theme)
        settle(chart)
        assert chart.locator(".rlviz").get_attribute("data-theme") == theme
        assert pixel(chart, *place(chart, *idle)) == rgb(SURFACE[theme]["band"])
        assert pixel(chart, 2, 2) == rgb(SURFACE[theme]["page"])


def test_a_page_of_one_theme_stays_in_it(open_page: Opener) -> None:
    opened = open_page(page(scene(2), theme="light"), dark=True)
    assert pixel(opened, 2, 2) == rgb(SURFACE["light"]["page"])


def test_hostile_strings_run_nothing_and_are_shown_as_they_are(open_page: Opener) -> None:
    opened = open_page(page(hostile()))
    told = hover(opened, 15.0, 2, 0.02)
    assert "https://example.com" in told
    hover(opened, 5.0, 0, 0.9)
    opened.get_by_role("searchbox").fill("script")
    for button in opened.get_by_role("button").all():
        if button.is_enabled():
            button.click()
    for select in opened.get_by_role("combobox").all():
        select.select_option(index=1)
    opened.locator(".rlviz").focus()
    opened.keyboard.press("]")
    settle(opened)
    assert opened.evaluate("() => globalThis.__pwned") is None
    assert opened.locator("img").count() == 0
    assert HOSTILE[0] in opened.locator(".rlviz-title").inner_text()
    assert opened.title().startswith("</script>")


@pytest.mark.parametrize("make", [empty, hatched, lambda: scene(128)])
def test_odd_scenes_are_painted_without_an_error(open_page: Opener, make: Any) -> None:
    open_page(page(make()))


@pytest.mark.parametrize("width", [600, 900, 2000])
@pytest.mark.parametrize("make", [lambda: scene(8), hostile], ids=["plain", "hostile"])
def test_nothing_is_wider_than_the_page(open_page: Opener, make: Any, width: int) -> None:
    opened = open_page(page(make()), width=width)
    assert opened.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_chart_grows_and_shrinks_with_its_window(open_page: Opener) -> None:
    opened = open_page(page(scene(8)), width=1400)
    wide = lens(opened, "lens.frame.width")
    opened.set_viewport_size({"width": 900, "height": 900})
    opened.wait_for_timeout(300)
    assert lens(opened, "lens.frame.width") == wide - 500


def test_nothing_is_drawn_at_zero_width(open_page: Opener) -> None:
    text = page(scene(2)).replace(
        '<div id="rlviz-chart"', '<div style="display: none" id="rlviz-chart"'
    )
    opened = open_page(text, wait=False)
    opened.wait_for_timeout(500)
    assert opened.evaluate("() => document.querySelectorAll('.rlviz canvas').length") == 0
    opened.evaluate("() => { document.getElementById('rlviz-chart').style.display = ''; }")
    opened.wait_for_selector("[data-rlviz=painted]")
    settle(opened)
    assert pixel(opened, *place(opened, 5.0, 0, 0.9)) == rgb(COLORS["generation"])

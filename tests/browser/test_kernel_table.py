"""The kernels of a range and of the window, in the table below a page's chart."""

from __future__ import annotations

from importlib.resources import files
from typing import TYPE_CHECKING, Any

import pytest
from playwright.sync_api import expect

from rlviz.view.asked import Span
from rlviz.view.detail import Detail
from rlviz.view.page import page
from rlviz.view.span_sums import MOST_KERNELS
from tests.browser.charts import lens, place, window
from tests.browser.conftest import settle, watched_page
from tests.view.scenes import HOSTILE, hatched, hostile, scene

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Browser, Locator, Page

    from rlviz.view.timeline import Timeline
    from tests.browser.conftest import Opener


@pytest.fixture
def chart(shared_chart: Page) -> Page:
    lens(shared_chart, "(lens.kernels.close(), lens.reset(), scrollTo(0, 0))")
    shared_chart.mouse.move(2, 2)
    settle(shared_chart)
    return shared_chart


def table(page: Page) -> Locator:
    found: Locator = page.get_by_role("region", name="kernels", exact=True)
    return found


def lines(page: Page) -> list[list[str]]:
    table(page).locator("tbody tr").first.wait_for()
    return [row.locator("td").all_inner_texts() for row in table(page).locator("tbody tr").all()]


def longest_range(page: Page, row: int) -> dict[str, Any]:
    found: dict[str, Any] = lens(
        page,
        f"""(() => {{
          const {{ overlays }} = lens.marks;
          const own = lens.marks.overlayRows.get({row}).filter((i) => overlays.count[i] === 1);
          const long = own.reduce((a, b) =>
            overlays.right[b] - overlays.left[b] > overlays.right[a] - overlays.left[a] ? b : a);
          return {{ left: overlays.left[long], right: overlays.right[long],
            name: lens.facts.names[overlays.name[long]] }};
        }})()""",
    )
    return found


def seconds(text: str) -> float:
    number, unit = text.split()
    return float(number) * {"s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}[unit]


def test_a_page_sums_up_what_the_kernel_would(chart: Page, timeline: Timeline) -> None:
    detail = Detail(timeline.run, timeline.scene)
    first, last = timeline.window
    spans = ((0.0, 1.0, None), (0.21, 0.62, [1]), (0.5, 0.5001, [3, 2]), (0.4, 0.4, None))
    for low, high, rows in spans:
        asked = {"start": first + (last - first) * low, "end": first + (last - first) * high}
        told = chart.evaluate(
            """async (asked) => {
              const { source } = document.querySelector('.rlviz').rlviz.detail;
              return [await source.kernels(asked), await source.busy(asked)];
            }""",
            asked | {"rows": rows},
        )
        span = Span(asked["start"], asked["end"], None if rows is None else frozenset(rows))
        wanted = detail.kernels(span)
        assert (told[0]["names"], told[0]["count"]) == (wanted["names"], wanted["count"])
        assert told[0]["total"] == pytest.approx(wanted["total"], abs=1e-8)
        for one, other in zip(told[0]["kernels"], wanted["kernels"], strict=True):
            assert one == [*other[:2], pytest.approx(other[2], abs=1e-8)]
        busy = {row: sum_s for row, sum_s in told[1]["busy"] if sum_s > 0}
        assert busy == pytest.approx(dict(detail.busy(span)["busy"]), abs=1e-8)


def test_a_click_on_a_range_lists_the_kernels_of_its_gpu_and_time(
    chart: Page, timeline: Timeline
) -> None:
    row = timeline.scene.rows[-1]
    found = longest_range(chart, row.row)
    chart.mouse.click(*place(chart, (found["left"] + found["right"]) / 2, row.row, 0.03))
    shown = lines(chart)
    wanted = timeline.run.top_kernels(
        row=row.row, start_ns=round(found["left"] * 1e9), end_ns=round(found["right"] * 1e9)
    )
    assert len(wanted) > MOST_KERNELS
    assert [name for name, *_ in shown[:MOST_KERNELS]] == wanted["short_name"].to_list()[
        :MOST_KERNELS
    ]
    for line, (_, count, total, share, _) in zip(
        shown[:MOST_KERNELS], wanted.iter_rows(), strict=False
    ):
        assert line[1] == f"{count:,}"
        assert seconds(line[2]) == pytest.approx(total / 1e9, rel=0.006)
        assert float(line[3].strip("<% ")) == pytest.approx(share * 100, abs=0.51)
    rest = wanted.slice(MOST_KERNELS)
    assert len(shown) == MOST_KERNELS + 1
    assert shown[-1][0] == f"{len(rest)} more names"
    assert shown[-1][1] == f"{rest['count'].sum():,}"
    assert seconds(shown[-1][2]) == pytest.approx(int(rest["total_ns"].sum()) / 1e9, rel=0.006)
    told = table(chart).inner_text()
    assert f"Kernels on this GPU during the range {found['name']}" in told
    assert f"{found['left']:.6f} s to {found['right']:.6f} s" in told
    assert "share of summed kernel time" in told
    assert lens(chart, "[...lens.doc.get_model_by_name('place').data.left]") == [found["left"]]


def test_a_key_and_a_button_list_the_kernels_of_the_window(chart: Page, timeline: Timeline) -> None:
    first, last = timeline.window
    start, end = first + (last - first) * 0.2, first + (last - first) * 0.5
    lens(chart, f"lens.zoom({start}, {end})")
    settle(chart)
    chart.locator(".rlviz").focus()
    chart.keyboard.press("k")
    shown = lines(chart)
    start, end = window(chart)
    wanted = timeline.run.top_kernels(start_ns=round(start * 1e9), end_ns=round(end * 1e9))
    assert [name for name, *_ in shown[:5]] == wanted["short_name"].to_list()[:5]
    assert "all rows" in table(chart).inner_text()
    chart.get_by_role("button", name="policy", exact=True).click()
    chart.get_by_role("button", name="kernels", exact=True).click()
    table(chart).get_by_text("2 of 4 rows").wait_for()
    chart.wait_for_function("() => !document.body.innerText.includes('flash_bwd')")
    generating = [row.row for row in timeline.scene.rows if row.pool == "generation"]
    wanted = timeline.run.top_kernels(
        row=generating, start_ns=round(start * 1e9), end_ns=round(end * 1e9)
    )
    assert [name for name, *_ in lines(chart)[:5]] == wanted["short_name"].to_list()[:5]


def test_the_keyboard_reaches_the_table_and_closes_it(chart: Page) -> None:
    chart.locator(".rlviz").focus()
    chart.keyboard.press("k")
    lines(chart)
    # Nothing takes the focus; from the chart it is a few steps away.
    assert lens(chart, "document.activeElement === lens.root")
    for _ in range(40):
        chart.keyboard.press("Tab")
        if lens(chart, "document.activeElement === lens.kernels.box"):
            break
    else:
        pytest.fail("no Tab leads to the table")
    chart.keyboard.press("Tab")
    assert lens(chart, "document.activeElement.textContent") == "close"
    chart.keyboard.press("Enter")
    assert not table(chart).is_visible()
    assert lens(chart, "document.activeElement === lens.root")
    chart.keyboard.press("k")
    lines(chart)
    chart.keyboard.press("Escape")
    assert not table(chart).is_visible()
    assert chart.locator(".rlviz-kernels [aria-live=polite]").count() == 2


def test_escape_takes_back_the_measurement_before_the_table(chart: Page) -> None:
    start, end = window(chart)
    chart.locator(".rlviz").focus()
    chart.keyboard.press("k")
    lines(chart)
    chart.wait_for_timeout(1_000)  # the table comes into sight once no second click can come
    lens(chart, "scrollTo(0, 0)")
    settle(chart)
    first, last = (place(chart, start + (end - start) * share, 0) for share in (0.4, 0.5))
    chart.keyboard.down("Shift")
    chart.mouse.move(*first)
    chart.mouse.down()
    chart.mouse.move(*last)
    chart.mouse.up()
    chart.keyboard.up("Shift")
    chart.keyboard.press("Escape")
    expect(chart.locator(".rlviz-measure")).to_be_hidden()
    expect(table(chart)).to_be_visible()
    chart.keyboard.press("Escape")
    expect(table(chart)).to_be_hidden()


def test_a_drag_or_a_double_click_on_a_range_is_no_question(
    chart: Page, timeline: Timeline
) -> None:
    row = timeline.scene.rows[-1].row
    found = longest_range(chart, row)
    middle = (found["left"] + found["right"]) / 2
    lens(chart, f"lens.zoom({found['left'] - 5}, {found['right'] + 5})")
    settle(chart)
    x, y = place(chart, middle, row, 0.03)
    chart.mouse.move(x, y)
    chart.mouse.down()
    chart.mouse.move(x + 20, y)
    chart.mouse.move(x + 40, y)
    chart.mouse.up()
    settle(chart)
    assert not table(chart).is_visible()
    chart.mouse.dblclick(*place(chart, middle, row, 0.03))
    settle(chart)
    assert window(chart) == pytest.approx(timeline.window)
    assert not table(chart).is_visible()


def test_a_click_beside_ranges_opens_nothing(chart: Page, timeline: Timeline) -> None:
    x, y = place(chart, window(chart)[0] + 1, timeline.scene.rows[0].row, 0.0)
    chart.mouse.click(x, y - 8)
    settle(chart)
    assert not table(chart).is_visible()


def test_a_page_without_events_says_so(open_page: Opener) -> None:
    opened = open_page(page(scene(8)))
    opened.mouse.click(*place(opened, 20.0, 5, 0.03))
    told = table(opened).inner_text()
    assert "dtensor_policy_worker_v2/train" in told
    assert "this chart holds no single events" in told
    assert opened.locator(".rlviz-kernels table").count() == 0


def test_where_nobody_looked_kernels_are_unknown_and_not_none(open_page: Opener) -> None:
    opened = open_page(page(hatched()))
    lens(
        opened,
        "lens.detail.source = { kernels: async () => ({ kernels: [], names: 0, count: 0 }) }",
    )
    opened.mouse.click(*place(opened, 29.2, 0, 0.03))
    told = table(opened)
    assert "Its kernels are unknown: no GPU data." in told.inner_text()
    lens(opened, "lens.kernels.show('', '', -10, -5, [1])")
    assert "Its kernels are unknown: not captured." in told.inner_text()
    lens(opened, "lens.kernels.show('', '', -10, 5, [1])")
    assert "partly not captured" in told.inner_text()
    told.get_by_text("No kernel ran there and then.").wait_for()
    lens(opened, "lens.kernels.show('', '', 1, 5, null)")
    told.get_by_text("1 row without GPU data").wait_for()


def test_axe_finds_nothing_wrong_in_the_table(
    timeline: Timeline, browser: Browser, tmp_path: Path
) -> None:
    pytest.importorskip("axe_playwright_python")
    axe = (files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")
    text = timeline.save(tmp_path / "saved.html").read_text("utf-8")
    with watched_page(browser, tmp_path / "page.html", text, scripts=[axe]) as opened:
        opened.wait_for_function(
            "() => document.querySelector('.rlviz').rlviz.detail.source !== undefined"
        )
        first, last = (place(opened, at, 0) for at in (20.0, 30.0))
        opened.keyboard.down("Shift")
        opened.mouse.move(*first)
        opened.mouse.down()
        opened.mouse.move(*last)
        opened.mouse.up()
        opened.keyboard.up("Shift")
        opened.locator(".rlviz-measure-words").get_by_text("training busy").wait_for()
        opened.keyboard.press("k")
        lines(opened)
        found = opened.evaluate("() => axe.run(document)")
    assert [(one["id"], one["help"]) for one in found["violations"]] == []


def test_hostile_names_in_the_table_are_text(open_page: Opener) -> None:
    opened = open_page(page(hostile()))
    lens(
        opened,
        f"""lens.detail.source = {{ kernels: async () => ({{
          kernels: [[{HOSTILE[1]!r}, 3, 0.5], [{HOSTILE[0]!r}, 2, 0.25]],
          names: 2, count: 5, total: 0.75 }}) }}""",
    )
    opened.mouse.click(*place(opened, 20.0, 3, 0.03))
    shown = lines(opened)
    assert shown[0][0].startswith("<img src=x")
    assert shown[1][0].startswith("</script>")
    assert opened.locator(".rlviz-kernels img, .rlviz-kernels script").count() == 0
    assert opened.evaluate("() => globalThis.__pwned") is None

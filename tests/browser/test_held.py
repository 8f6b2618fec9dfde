"""The static page draws any window from what it holds, offline."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from playwright.sync_api import expect

from rlviz.view.asked import Bucket, Window
from rlviz.view.choices import COLOR_BY
from rlviz.view.detail import Detail
from tests.browser.charts import hover, lens, place, window
from tests.browser.conftest import settle
from tests.view.packed import places_of

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from rlviz.view.choices import ColorBy
    from rlviz.view.timeline import Timeline
    from tests.browser.conftest import Opener


@pytest.fixture(scope="module")
def chart(shared_chart: Page) -> Page:
    return shared_chart


def answer(chart: Page, start: float, end: float, width: int, **choice: Any) -> dict[str, Any]:
    text = chart.evaluate(
        """async (asked) => {
          const plain = (_, one) => (ArrayBuffer.isView(one) ? Array.from(one) : one);
          const lens = document.querySelector('.rlviz').rlviz;
          return JSON.stringify(await lens.detail.source.detail(asked), plain);
        }""",
        {"start": start, "end": end, "width": width}
        | {"color_by": "phase", "search": "", "rows": None}
        | choice,
    )
    found: dict[str, Any] = json.loads(text)
    return found


@pytest.mark.parametrize("share", [1.0, 0.4])
@pytest.mark.parametrize("color_by", COLOR_BY)
def test_buckets_are_those_that_a_kernel_would_send(
    chart: Page, timeline: Timeline, color_by: ColorBy, share: float
) -> None:
    first, last = timeline.window
    start, end = first, first + (last - first) * share
    sent = answer(chart, start, end, 700, color_by=color_by, search="flash")["strips"]
    window = Window(start, end, 700, color_by, "flash")
    facts, columns = Detail(timeline.run, timeline.scene).answer(window)
    coverage, color, match = (np.frombuffer(column, "u1") for column in columns[:3])
    assert len(sent) == len(facts["strips"]) == 4
    at = 0
    for got, (row, left, width, length) in zip(sent, facts["strips"], strict=True):
        own, at = slice(at, at + length), at + length
        assert (got["row"], got["width"]) == (row, width)
        lead = round((left - got["start"]) / width)
        part = slice(lead, lead + length)
        for key, column in (("coverage", coverage), ("match", match)):
            column_sent = np.array(got[key])
            np.testing.assert_array_equal(column_sent[part], column[own])
            assert column_sent.sum() == column[own].sum()
        some = coverage[own] > 0
        same = np.array(got["color"])[part][some] == color[own][some]
        # Of two activities with equal time either may tell.
        assert same.mean() > 0.999
    assert match.any()


def test_only_the_rows_that_are_seen_are_made(chart: Page, timeline: Timeline) -> None:
    sent = answer(chart, *timeline.window, 700, rows=[3, 1])["strips"]
    assert [strip["row"] for strip in sent] == [1, 3]


def test_a_bucket_tells_what_a_kernel_would_tell(chart: Page, timeline: Timeline) -> None:
    detail = Detail(timeline.run, timeline.scene)
    facts, columns = detail.answer(Window(*timeline.window, 700))
    row, left, width, length = facts["strips"][0]
    held = np.flatnonzero(np.frombuffer(columns[0], "u1")[:length])
    for bucket in held[:: len(held) // 10].tolist():
        start = left + bucket * width
        told = chart.evaluate(
            """(bucket) =>
              document.querySelector('.rlviz').rlviz.detail.source.bucket(bucket)""",
            {"row": row, "start": start, "width": width},
        )
        wanted = detail.bucket(Bucket(row, start, width))
        assert told.keys() == wanted.keys()
        assert [told[key] for key in ("count", "name", "text")] == [
            wanted[key] for key in ("count", "name", "text")
        ]
        assert told["share"] == pytest.approx(wanted["share"], abs=1 / 255)
        assert told["busy"] == pytest.approx(wanted["busy"], abs=1e-9)
        assert told["longest"] == pytest.approx(wanted["longest"], abs=1e-9)


def test_a_bucket_under_the_pointer_tells_what_it_stands_for(
    chart: Page, timeline: Timeline
) -> None:
    first, last = timeline.window
    lens(chart, f"lens.zoom({first}, {first + (last - first) * 0.2})")
    chart.wait_for_function(
        "() => { const { detail } = document.querySelector('.rlviz').rlviz;"
        " return detail.picture !== null && !detail.wanting(); }"
    )
    settle(chart)
    at = first + (last - first) * 0.12
    seen = hover(chart, at, 1, 0.8)
    assert "in this bar, busy share" in seen
    chart.get_by_text("longest event").wait_for()
    told = chart.locator(".rlviz-tip:visible").inner_text()
    bucket = lens(
        chart,
        f"lens.detail.at({timeline.scene.rows[1].row}, {at}, 0)",
    )
    wanted = Detail(timeline.run, timeline.scene).bucket(
        Bucket(bucket["row"], bucket["left"], bucket["width"])
    )
    assert f"{wanted['count']:,} events in this bar" in told
    assert f"mostly {wanted['text']}" in told
    # Elsewhere is told of elsewhere, at once and without what is not known yet.
    other = hover(chart, first + (last - first) * 0.16, 2, 0.8)
    assert f"{wanted['count']:,} events" not in other or "longest" in other


def test_events_and_ranges_are_those_that_a_kernel_would_send(
    chart: Page, timeline: Timeline
) -> None:
    middle = sum(timeline.window) / 2
    sent = answer(chart, middle, middle + 1.5, 700)
    span = int(np.floor(middle * 1e9)), int(np.ceil((middle + 1.5) * 1e9))
    view = timeline.run.view(*span, 700)
    assert sent["strips"] == []
    assert sent["events"]["left"] == (view.event_start_ns / 1e9).tolist()
    assert sent["events"]["right"] == (view.event_end_ns / 1e9).tolist()
    assert sent["events"]["name"] == view.name.tolist()
    near = answer(chart, middle, middle + 0.5, 100_000_000)["overlays"]
    ranges = timeline.run.ranges(start_ns=span[0], end_ns=span[0] + 500_000_000)
    assert len(near["left"]) == len(ranges) > 0
    assert sorted(round(at * 1e9) for at in near["left"]) == sorted(ranges["start_ns"])


def test_a_wheel_leads_to_single_kernels_without_a_kernel_of_jupyter(
    chart: Page, timeline: Timeline
) -> None:
    lens(chart, "lens.reset()")
    first, last = window(chart)
    x, y = place(chart, first + (last - first) * 0.45, 2, 0.8)
    chart.mouse.move(x, y)
    for _ in range(60):
        chart.mouse.wheel(0, -360)
        chart.wait_for_timeout(60)
        settle(chart)
        start, end = window(chart)
        if end - start < 0.02:
            break
    assert lens(chart, "lens.detail.picture.strips.length") == 0
    left, right, row, name = (
        lens(chart, f"Array.from(lens.detail.picture.events.{key})")
        for key in ("left", "right", "row", "name")
    )
    start, end = window(chart)
    seen = [
        i
        for i in range(len(left))
        if row[i] == 2 and start < left[i] and right[i] < end and right[i] - left[i] > 1e-4
    ]
    assert seen
    at = (left[seen[0]] + right[seen[0]]) / 2
    assert timeline.run.events.names[int(name[seen[0]])] in hover(chart, at, 2, 0.8)


def test_a_page_over_its_budget_says_what_it_leaves_out(
    timeline: Timeline, open_page: Opener, tmp_path: Any
) -> None:
    text = timeline.save(tmp_path / "small.html", detail=0.01).read_text("utf-8")
    opened = open_page(text)
    assert "leaves out its" in opened.locator(".rlviz-note").last.inner_text()
    assert lens(opened, "lens.detail.source === undefined")


def test_a_browser_that_cannot_unpack_shows_the_first_view_and_says_why(
    timeline: Timeline, browser: Browser, tmp_path: Any
) -> None:
    path = timeline.save(tmp_path / "page.html")
    context = browser.new_context(offline=True)
    try:
        context.add_init_script("delete globalThis.DecompressionStream")
        page = context.new_page()
        errors: list[str] = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        page.get_by_text("cannot unpack the detail").wait_for()
        assert page.locator("[data-rlviz=painted]").count() == 1
        assert errors == []
    finally:
        context.close()


@pytest.mark.parametrize("search", ["train", "flash", "copy", "no such name"])
def test_places_of_a_search_are_those_that_a_kernel_would_find(
    chart: Page, timeline: Timeline, search: str
) -> None:
    found = chart.evaluate(
        """async (search) => {
          const { detail, facts: { rows, limits } } = document.querySelector('.rlviz').rlviz;
          const found = await detail.source.places({ search, rows, limits });
          return Object.fromEntries(Object.entries(found).map(([key, one]) => [key, [...one]]));
        }""",
        search,
    )
    wanted = places_of(*Detail(timeline.run, timeline.scene).places(search))
    order, other = (
        np.lexsort([np.asarray(of[key]) for key in ("right", "left", "top", "row")])
        for of in (found, wanted)
    )
    for key, column in wanted.items():
        np.testing.assert_allclose(np.asarray(found[key])[order], column[other], atol=1e-9, rtol=0)


def test_a_kernel_that_no_bar_stands_for_is_found_and_gone_to(
    chart: Page, timeline: Timeline
) -> None:
    bars = set(timeline.scene.bars.name.tolist())
    tracks = timeline.run.tracks.values()
    rare = next(n for track in tracks for n in track.name.tolist() if n not in bars)
    name = timeline.run.events.names[rare]
    places = places_of(*Detail(timeline.run, timeline.scene).places(name))
    lens(chart, "lens.controls.reset()")
    chart.get_by_role("searchbox").fill(name)
    count = chart.locator(".rlviz-controls [role=status]")
    expect(count).to_have_text(str(len(places["left"])))
    chart.get_by_role("searchbox").press("Enter")
    expect(count).to_have_text(f"1 of {len(places['left'])}")
    start, end = window(chart)
    assert start <= places["left"].min() < end
    lens(chart, "lens.controls.reset()")


@pytest.mark.parametrize(
    "choice", [{"color_by": "kernel"}, {"color_by": "kind"}, {"search": "flash"}]
)
def test_buckets_are_painted_as_was_chosen_while_zoomed_in(
    chart: Page, timeline: Timeline, choice: dict[str, str]
) -> None:
    first, last = timeline.window
    lens(chart, "lens.controls.reset()")
    lens(chart, f"lens.zoom({first}, {first + (last - first) * 0.2})")
    lens(chart, f"lens.controls.choose({json.dumps(choice)})")
    chart.wait_for_function(
        """(choice) => {
          const { detail } = document.querySelector('.rlviz').rlviz;
          const [layer, ...others] = detail.layers();
          return others.length === 0 && layer.picture !== null && !detail.wanting()
            && Object.entries(choice).every(([key, value]) => layer.picture[key] === value);
        }""",
        arg=choice,
    )
    settle(chart)
    assert lens(chart, "lens.detail.picture.strips.length") == 4
    assert lens(chart, "lens.detail.painter.drawn") > 100
    lens(chart, "lens.controls.reset()")

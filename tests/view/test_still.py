"""Still figures: complete, readable, the same every time, whatever the names are."""

from __future__ import annotations

import io
import itertools
import os
import re
import struct
import subprocess
import sys
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.image import imread

from rlviz.view.palette import COLORS, SURFACE
from rlviz.view.scene import Line
from rlviz.view.still import still
from rlviz.view.still_text import width_pt
from tests.view.scenes import HOSTILE, empty, hatched, hostile, scene
from tests.view.stills import SVG, Drawn, drawn, outline, overlap, svg_texts

COLUMN_IN = 85 / 25.4
SNAPSHOTS = Path(__file__).parent / "snapshots"
FORMATS: Any = ("png", "svg", "pdf")
THEMES: Any = ("light", "dark", "print")


def small() -> Any:
    return scene(2, iterations=1, buckets=40)


def test_the_figure_is_the_one_that_was_looked_at() -> None:
    """After a change that is wanted: ``UPDATE_SNAPSHOTS=1 pytest``, and look at the difference."""
    path = SNAPSHOTS / "still.txt"
    now = outline(still(small(), "svg"))
    if os.environ.get("UPDATE_SNAPSHOTS"):
        path.write_text(now, "utf-8")
    assert now == path.read_text("utf-8")


@pytest.mark.parametrize("kind", FORMATS)
def test_the_same_scene_gives_the_same_bytes_whatever_matplotlib_is_set_to(kind: Any) -> None:
    first = still(small(), kind)
    strange: Any = {
        "text.usetex": True,
        "font.size": 31,
        "font.family": ["serif"],
        "savefig.dpi": 31,
        "savefig.bbox": "tight",
        "svg.fonttype": "path",
        "lines.linewidth": 9,
        "axes.facecolor": "red",
    }
    with mpl.rc_context(strange):
        before = dict(mpl.rcParams)
        assert still(small(), kind) == first
        assert dict(mpl.rcParams) == before


def test_another_process_at_another_time_gives_the_same_bytes() -> None:
    program = (
        "import hashlib, sys\n"
        "from rlviz.view.still import still\n"
        "from tests.view.scenes import scene\n"
        "small = scene(2, iterations=1, buckets=40)\n"
        "print([hashlib.sha256(still(small, k)).hexdigest() for k in ('png', 'svg', 'pdf')])\n"
    )
    told = []
    for seed, epoch in (("1", "1000000000"), ("2", "1700000000")):
        env = os.environ | {"PYTHONHASHSEED": seed, "SOURCE_DATE_EPOCH": epoch}
        done = subprocess.run(
            [sys.executable, "-c", program],
            env=env,
            cwd=Path(__file__).parents[2],
            capture_output=True,
            text=True,
            check=True,
        )
        told.append(done.stdout)
    assert told[0] == told[1]


def test_a_png_is_as_wide_as_was_asked_for_and_never_coarse() -> None:
    for width, pixels in ((None, 1800), (20.0, 3000), (COLUMN_IN, 1800)):
        png = still(small(), "png", width=width)
        assert png[:8] == b"\x89PNG\r\n\x1a\n"
        assert abs(struct.unpack(">I", png[16:20])[0] - pixels) <= 1


def test_a_height_that_is_asked_for_is_kept() -> None:
    for rows, height in ((8, 4.0), (8, 11.0), (64, 6.0)):
        assert drawn(scene(rows), height=height).height == pytest.approx(72 * height)


def test_in_svg_text_is_text_and_nothing_is_fetched() -> None:
    svg = still(scene(8), "svg")
    root = ElementTree.fromstring(svg)
    assert root.get("width") == "864pt"
    texts = svg_texts(svg)
    for expected in (
        "llama-3-8b async GRPO · 2 hosts · 8 GPUs",
        "Train 5",
        "GPU 0 policy 0",
        "node-1",
        "refit 0.55 s",
        "generation",
        "NVTX range",
        "SIMULATED",
        "50 %",
    ):
        assert expected in texts
    assert not {e.tag for e in root.iter()} & {f"{SVG}image", f"{SVG}use", f"{SVG}script"}
    assert not re.search(rb'(href|src|url)[=(]["\']?https?:', svg)
    assert b"'DejaVu Sans', Verdana, Arial, sans-serif" in svg


def test_in_pdf_text_is_text_and_has_no_date() -> None:
    pdf = still(scene(8), "pdf")
    assert pdf.startswith(b"%PDF")
    streams = b"".join(
        _inflated(found) for found in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.S)
    )
    objects = pdf + streams
    assert b"/FontFile2" in objects
    assert b"/ToUnicode" in objects
    assert b"/Type3" not in objects
    assert b"Date" not in objects
    assert len(re.findall(rb"T[jJ]\b", streams)) > 50


def _inflated(data: bytes) -> bytes:
    try:
        return zlib.decompressobj().decompress(data)
    except zlib.error:
        return b""


@pytest.mark.parametrize("theme", THEMES)
def test_a_theme_colours_page_and_ink(theme: Any) -> None:
    image = imread(io.BytesIO(still(small(), "png", theme=theme)))
    page = [round(255 * value) for value in image[0, 0][:3]]
    assert "#{:02x}{:02x}{:02x}".format(*page) == SURFACE[theme]["page"]
    svg = still(small(), "svg", theme=theme).decode()
    assert SURFACE[theme]["muted"] in svg
    assert {COLORS["generation"], COLORS["training"], COLORS["refit"]} <= set(
        re.findall("#[0-9a-f]{6}", svg)
    )


def test_what_is_simulated_is_called_so_and_nothing_else() -> None:
    for options in ({}, {"caption": False}, {"title": ""}, {"width": COLUMN_IN}):
        texts = svg_texts(still(small(), "svg", **options))
        assert "SIMULATED" in texts
        assert "simulated run, no measurement" in " ".join(texts)
    real = replace(small(), simulated=False)
    assert "simulated" not in still(real, "svg").decode().lower()


def test_title_and_caption_can_be_left_out() -> None:
    texts = " ".join(svg_texts(still(small(), "svg", title="My run", caption=False)))
    assert "My run" in texts
    assert small().title not in texts
    assert "idle 28" not in texts
    assert "aligned" not in texts
    assert small().title not in svg_texts(still(small(), "svg", title=""))


def check(figure: Drawn) -> None:
    """Nothing is cut off, and no text lies on another."""
    for text, (x0, y0, x1, y1) in figure.texts:
        inside = x0 >= -0.1 and y0 >= -0.1 and x1 <= figure.width + 0.1
        assert inside and y1 <= figure.height + 0.1, text  # noqa: PT018
    for x0, y0, x1, y1 in figure.paths:
        assert 0 <= x0 <= x1 <= figure.width
        assert 0 <= y0 <= y1 <= figure.height
    for (one, box), (other, place) in itertools.combinations(figure.texts, 2):
        assert not overlap(box, place), (one, other)


@pytest.mark.parametrize("width", [12.0, COLUMN_IN])
@pytest.mark.parametrize("rows", [2, 8, 64, 128])
def test_nothing_overlaps_and_nothing_is_cut_off(rows: int, width: float) -> None:
    figure = drawn(scene(rows), width=width)
    check(figure)
    texts = [text for text, _ in figure.texts]
    assert sum("vllm" in text for text in texts) == rows // 2
    assert sum("policy" in text for text in texts) >= rows - rows // 2


@pytest.mark.parametrize("width", [12.0, 20.0, 6.0, COLUMN_IN, 2.5])
def test_hostile_names_stay_in_their_places(width: float) -> None:
    check(drawn(hostile(), width=width))


@pytest.mark.parametrize("made", [empty, hatched])
def test_a_run_without_gpu_data_or_without_rows_is_drawn(made: Any) -> None:
    for width in (12.0, COLUMN_IN):
        check(drawn(made(), width=width))


@pytest.mark.parametrize("rows", [8, 128])
def test_in_a_papers_column_all_is_told_in_letters_that_can_be_read(rows: int) -> None:
    word = "unknown: its report holds no rows of a GPU, so that nothing can be told of it"
    notes = tuple(f"kind-{i} ({i} reports): {' '.join([word] * 5)}." for i in range(4))
    written = still(replace(scene(rows), notes=notes), "svg", width=COLUMN_IN)
    told = " ".join(svg_texts(written))
    assert all(note in told for note in notes)
    sizes = re.findall(r"font(?:-size)?: (?:bold |700 )?([\d.]+)px", written.decode())
    assert sizes
    assert min(map(float, sizes)) >= 5.0
    check(drawn(replace(scene(rows), notes=notes), width=COLUMN_IN))


def test_a_row_without_gpu_data_is_hatched_and_its_busy_share_unknown() -> None:
    texts = svg_texts(still(hatched(), "svg"))
    assert "no GPU data" in texts
    assert "unknown" in texts
    assert "?" in svg_texts(still(hatched(), "svg", width=COLUMN_IN))


def test_many_iterations_are_numbered_as_far_as_there_is_room() -> None:
    many = scene(2, iterations=60, buckets=400)
    for width in (12.0, COLUMN_IN):
        figure = drawn(many, width=width)
        check(figure)
        assert sum(text.isdigit() for text, _ in figure.texts) >= 10


@pytest.mark.parametrize("kind", FORMATS)
def test_hostile_names_are_text_and_nothing_else(kind: Any) -> None:
    names = (*hostile().names[:-1], "\ufffe\uffff $x^2$ \\alpha \x07")
    written = still(replace(hostile(), names=names, title=f"$\\frac{{1}}{{2}}$ {HOSTILE[3]}"), kind)
    if kind == "svg":
        root = ElementTree.fromstring(written)
        known = [
            "svg",
            "metadata",
            "defs",
            "style",
            "g",
            "path",
            "text",
            "title",
            "RDF",
            "Work",
            "Agent",
        ]
        assert {e.tag.split("}")[-1] for e in root.iter() if "purl" not in e.tag} <= set(known)
        texts = svg_texts(written)
        assert any(text.startswith("$\\frac{1}{2}$") for text in texts)
        assert any(text.startswith("lone⟨U+D800⟩surrogate␀nul␛[31m") for text in texts)
        assert not re.search("[\x00-\x08\x0b-\x1f\u200b\u202e\u2066]", "".join(texts))


def test_a_window_cuts_everything_to_itself() -> None:
    base = scene(8)
    figure = drawn(base, window=(42.0, 43.0))
    check(figure)
    texts = {text for text, _ in figure.texts}
    assert "dtensor_policy_worker_v2/train [17.5 s]" in texts
    assert {"generation", "training", "communication"} <= texts
    # Nothing of the other iterations, and no entry of the legend without its mark.
    assert not texts & {"Train 4", "refit", "logprobs", "profiler edge", "refit 0.55 s"}
    assert "Train 5" in texts
    assert any("1.00 s from 42 s" in text for text in texts)


def test_a_narrow_window_has_a_fine_axis_with_its_base() -> None:
    texts = svg_texts(still(scene(8), "svg", window=(42.1230001, 42.1230901)))
    assert "42.123 s +" in texts
    assert "50 us" in texts


def test_the_window_of_an_iteration_is_named() -> None:
    base = scene(8)
    number, start, end, _ = base.iterations[1]
    title = f"{base.title} · iteration {number}"
    assert title in svg_texts(still(base, "svg", window=(start, end)))


def test_rows_are_chosen_by_number_or_by_text() -> None:
    def labels(**options: Any) -> list[str]:
        return [t for t in svg_texts(still(scene(8), "svg", **options)) if t.startswith("GPU")]

    assert labels(rows=[5, 0]) == ["GPU 0 vllm 0", "GPU 1 policy 1"]
    assert labels(rows="POLICY") == [f"GPU {i} policy {i}" for i in range(4)]
    assert labels(rows="generation") == [f"GPU {i} vllm {i}" for i in range(4)]
    chosen = svg_texts(still(scene(8), "svg", rows="policy"))
    assert not {"generation", "Gen 3", "Gen 3 (weights 3)"} & set(chosen)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"rows": [99]}, r"no rows \[99\]"),
        ({"rows": []}, "no rows to draw"),
        ({"rows": "critic"}, "no row has 'critic'"),
        ({"window": (5.0, 5.0)}, "no width"),
        ({"window": (6.0, 5.0)}, "no width"),
        ({"window": (float("nan"), 5.0)}, "no width"),
        ({"window": (500.0, 600.0)}, "not within -12 to 98 s"),
        ({"theme": "neon"}, "no theme 'neon': there are light, dark, print"),
        ({"width": 1800.0}, "in inches"),
        ({"width": 0.0}, "in inches"),
        ({"height": 2.0}, r"too low: 2\.\d in is the least"),
    ],
)
def test_what_cannot_be_drawn_is_an_error(options: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        still(scene(8), "svg", **options)


def test_an_unknown_format_is_an_error() -> None:
    kind: Any = "gif"
    with pytest.raises(ValueError, match="no format 'gif': there are png, svg, pdf"):
        still(small(), kind)


def test_texts_are_as_wide_as_they_were_measured() -> None:
    # A drawing in between must not matter: matplotlib's fonts remember the size last used.
    for text, (x0, _, x1, _) in drawn(scene(8)).texts:
        if text.startswith("dtensor") or text.endswith("[17.5 s]"):
            assert x1 - x0 == pytest.approx(width_pt(text, 8.2), rel=0.03)
    assert width_pt("=======", 10) == pytest.approx(7 * 8.38, rel=0.01)


def test_activity_has_the_legends_colours_below_ranges_too() -> None:
    """Ranges are translucent, but lie below: blue communication under a train range is blue."""
    image = imread(io.BytesIO(still(scene(8), "png", window=(42.0, 43.0))))
    channels = np.round(255 * image[:, :, :3]).astype(int) @ [1 << 16, 1 << 8, 1]
    seen = np.unique(channels)
    for key in ("communication", "training"):
        assert int(COLORS[key][1:], 16) in seen


def test_a_text_that_does_not_fit_between_two_lines_is_left_out() -> None:
    lines = (Line(10.0, "refit", "refit 1 s"), Line(11.0, "refit", "refit 2 s"))
    texts = svg_texts(still(replace(scene(8), lines=lines), "svg"))
    assert "refit 2 s" in texts
    assert "refit 1 s" not in texts

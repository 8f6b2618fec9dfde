"""What a page may ask: any of its scripts could have sent it."""

from __future__ import annotations

from typing import Any

import pytest

from rlviz.view.asked import Bucket, Span, Window, bucket_asked, span_asked, window_asked

WINDOW: dict[str, Any] = {"start": 1, "end": 2, "width": 500}


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"start": 1, "end": 1, "width": 10},
        {"start": 2, "end": 1, "width": 10},
        {"start": 0, "end": 1, "width": 0},
        {"start": 0, "end": 1, "width": 1e9},
        {"start": 0, "end": float("nan"), "width": 10},
        {"start": float("-inf"), "end": 1, "width": 10},
        {"start": 0, "end": 10**400, "width": 10},
        {"start": "0", "end": 1, "width": 10},
        {"start": [0], "end": {}, "width": None},
        WINDOW | {"color_by": "temperature"},
        WINDOW | {"color_by": ["phase"]},
        WINDOW | {"search": 5},
        WINDOW | {"search": "x" * 501},
        WINDOW | {"rows": "all"},
        WINDOW | {"rows": [0.5]},
        WINDOW | {"rows": [True]},
        WINDOW | {"rows": [0] * 10_001},
    ],
)
def test_what_is_no_window_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="window"):
        window_asked(message)


def test_a_window_is_taken_with_all_that_was_chosen() -> None:
    assert window_asked(WINDOW) == Window(1, 2, 500, "phase", "", None)
    chosen = {"color_by": "kernel", "search": " flash ", "rows": [2, 0]}
    assert window_asked(WINDOW | chosen) == Window(1, 2, 500, "kernel", "flash", frozenset({0, 2}))
    assert window_asked(WINDOW | {"rows": None}).rows is None


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"row": 0.5, "start": 0, "width": 1},
        {"row": 0, "start": 0, "width": 0},
        {"row": 0, "start": float("nan"), "width": 1},
        {"row": "0", "start": 0, "width": 1},
    ],
)
def test_what_is_no_bucket_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="bucket"):
        bucket_asked(message)


def test_a_bucket_is_taken() -> None:
    assert bucket_asked({"row": 3, "start": 1.5, "width": 0.25}) == Bucket(3, 1.5, 0.25)


@pytest.mark.parametrize(
    "message",
    [
        {},
        {"start": 2, "end": 1},
        {"start": 0, "end": float("nan")},
        {"start": 0, "end": 10**400},
        {"start": "0", "end": 1},
        {"start": 0, "end": 1, "rows": "all"},
        {"start": 0, "end": 1, "rows": [True]},
        {"start": 0, "end": 1, "rows": [0] * 10_001},
    ],
)
def test_what_is_no_span_is_refused(message: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="window"):
        span_asked(message)


def test_a_span_is_taken_with_its_rows() -> None:
    assert span_asked({"start": 1, "end": 1}) == Span(1, 1, None)
    assert span_asked({"start": 1, "end": 2, "rows": [2, 0]}) == Span(1, 2, frozenset({0, 2}))

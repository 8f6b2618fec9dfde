"""What passes between a chart's views and the kernel."""

from __future__ import annotations

import asyncio
import gzip
import json
import math
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from rlviz.view import libraries, ready
from rlviz.view import widget as widget_module
from rlviz.view.asked import Window
from rlviz.view.libraries import LIBRARIES
from rlviz.view.timeline import Timeline
from rlviz.view.widget import FIGURE, ChartWidget
from tests.view.scenes import scene
from tests.view.stand_ins import timeline_of

if TYPE_CHECKING:
    from collections.abc import Sequence


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """What a kernel sent: message, and buffers if any."""
    found: list[Any] = []
    monkeypatch.setattr(ChartWidget, "send", lambda _, *message: found.append(message))
    monkeypatch.setattr(libraries, "_sent", set())
    return found


@pytest.fixture
def drawn() -> Timeline:
    return timeline_of(scene(8))


def facts_of(message: tuple[dict[str, Any], Sequence[bytes]]) -> dict[str, Any]:
    parts = dict(zip(message[0]["parts"], message[1], strict=True))
    found: dict[str, Any] = json.loads(gzip.decompress(parts["facts"]))
    return found


def test_a_view_is_answered_or_refused_with_its_own_number(
    timeline: Timeline, sent: list[Any]
) -> None:
    made = timeline._widget
    ask = {"kind": "detail", "view": "v", "sequence": 7}
    widget_module._received(made, {**ask, "start": 1, "end": 2, "width": 500}, [])
    (facts, columns), *_ = sent
    assert (facts["kind"], facts["view"], facts["sequence"]) == ("answer", "v", 7)
    assert len(columns) == 10
    widget_module._received(made, {**ask, "start": 2, "end": 2, "width": 500}, [])
    assert sent[1] == ({**ask, "kind": "refusal", "problem": "the window has no width"},)


def test_a_view_is_told_when_its_detail_fails(timeline: Timeline, sent: list[Any]) -> None:
    run: Any = SimpleNamespace(reports=[], is_remembered=lambda *_: False)
    broken = Timeline(run)
    broken.__dict__["scene"] = timeline.scene
    ask = {"kind": "detail", "view": "v", "sequence": 1, "start": 1, "end": 2, "width": 500}
    with pytest.raises(AttributeError):
        widget_module._received(broken._widget, ask, [])
    assert sent[0][0]["kind"] == "refusal"


def test_a_bucket_is_answered_or_refused(timeline: Timeline, sent: list[Any]) -> None:
    made = timeline._widget
    facts, _ = timeline._detail().answer(Window(*timeline.window, 800))
    row, left, width, _ = facts["strips"][0]
    ask = {"kind": "bucket", "view": "v", "sequence": 8, "row": row, "width": width}
    widget_module._received(made, {**ask, "start": left}, [])
    widget_module._received(made, {**ask, "start": 1e6}, [])
    assert sent[0][0]["count"] > 0
    assert (sent[0][0]["kind"], sent[0][0]["sequence"]) == ("answer", 8)
    assert (sent[1][0]["kind"], sent[1][0]["sequence"]) == ("refusal", 8)


@pytest.mark.parametrize(("kind", "column"), [("kernels", "kernels"), ("busy", "busy")])
def test_sums_over_a_span_are_answered_or_refused(
    timeline: Timeline, sent: list[Any], kind: str, column: str
) -> None:
    made = timeline._widget
    ask = {"kind": kind, "view": "v", "sequence": 9, "rows": [0]}
    widget_module._received(made, {**ask, "start": 1, "end": 60}, [])
    widget_module._received(made, {**ask, "start": 60, "end": 1}, [])
    assert sent[0][0][column]
    assert [message["kind"] for message, *_ in sent] == ["answer", "refusal"]
    assert {message["sequence"] for message, *_ in sent} == {9}


def test_a_chart_is_sent_once_with_its_cell_and_libraries_once_a_kernel(
    drawn: Timeline, sent: list[Any]
) -> None:
    made = drawn._widget
    with made.showing():
        # A view that opens now waits for what comes.
        assert made._coming
        assert sent == []
    assert not made._coming
    assert [message["parts"] for message, _ in sent] == [[*LIBRARIES, *FIGURE]]
    with made.showing():
        assert not made._coming
    assert len(sent) == 1
    other = Timeline(drawn.run)
    other.__dict__["scene"] = drawn.scene
    with other._widget.showing():
        pass
    assert sent[1][0]["parts"] == [*FIGURE]


def test_libraries_that_were_sent_ahead_do_not_come_with_the_chart(
    drawn: Timeline, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    ahead: list[Any] = []
    monkeypatch.setattr(libraries._Messenger, "send", lambda _, *message: ahead.append(message))
    libraries.send_ahead()
    libraries.send_ahead()
    ((message, packed),) = ahead
    assert message == {"kind": "chart", "parts": [*LIBRARIES]}
    assert b"class Chart" in gzip.decompress(packed[1])
    with drawn._widget.showing():
        pass
    assert [message["parts"] for message, _ in sent] == [[*FIGURE]]


def test_detail_is_ready_soon_after_the_cell_and_before_a_view_asks(
    timeline: Timeline, sent: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ready, "_IDLE_S", 0)
    made = Timeline(timeline.run)

    async def cell() -> None:
        with made._widget.showing():
            pass
        assert "_ranges" not in vars(made._detail())
        await asyncio.sleep(0.01)

    asyncio.run(cell())
    assert "_ranges" in vars(made._detail())
    assert [message["kind"] for message, _ in sent] == ["chart"]


def test_a_view_does_not_wait_for_what_could_not_be_sent(drawn: Timeline, sent: list[Any]) -> None:
    made = drawn._widget
    with pytest.raises(KeyboardInterrupt), made.showing():
        raise KeyboardInterrupt
    assert not made._coming
    assert sent == []


def test_a_renewed_chart_is_sent_and_given_to_views_that_ask_later(
    drawn: Timeline, sent: list[Any]
) -> None:
    made = drawn._widget
    made.renew(scene(2))
    assert len(facts_of(sent[0])["rows"]) == 2
    ask = {"kind": "ask", "view": "v", "sequence": 1, "parts": ["facts"]}
    widget_module._received(made, ask, [])
    assert sent[1][1] == [made._parts["facts"]()]
    assert len(json.loads(gzip.decompress(sent[1][1][0]))["rows"]) == 2


@pytest.mark.parametrize(
    "place", [(1, 10**400), (-math.inf, math.inf), (2, 1), (math.nan, 2), ("1", 2), (True, None)]
)
def test_a_view_cannot_move_a_timeline_to_what_is_no_window(
    timeline: Timeline, sent: list[Any], place: tuple[Any, Any]
) -> None:
    made, before = timeline._widget, timeline.window
    start, end = place
    widget_module._received(made, {"kind": "window", "start": start, "end": end}, [])
    assert timeline.window == before
    assert sent == []


@pytest.mark.parametrize("text", ["one of 3", "3 of", 3, None, ["none"]])
def test_a_view_cannot_put_into_the_controls_what_is_no_count(
    timeline: Timeline, sent: list[Any], text: object
) -> None:
    made = timeline._widget
    widget_module._received(made, {"kind": "found", "text": text}, [])
    assert made._found == ""
    assert sent == []


@pytest.mark.parametrize("parts", [["lens", "other"], [["lens"]], "lens", None])
def test_a_view_that_asks_for_what_is_no_part_is_refused(
    timeline: Timeline, sent: list[Any], parts: object
) -> None:
    ask = {"view": "v", "sequence": 3}
    widget_module._received(timeline._widget, {**ask, "kind": "ask", "parts": parts}, [])
    assert sent == [({**ask, "kind": "refusal", "problem": "unknown part"},)]

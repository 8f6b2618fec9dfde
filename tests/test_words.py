"""Names that any report may hold are put in an order, and never end the reading."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlviz.run.words import listed, natural_key


@given(st.lists(st.text()))
def test_any_names_have_an_order(names: list[str]) -> None:
    assert sorted(sorted(names, key=natural_key)) == sorted(names)


@pytest.mark.parametrize("name", ["node-²", "٣", "9" * 5_000])
def test_what_only_looks_like_a_number_is_put_in_order_too(name: str) -> None:
    assert sorted([name, "node-10", "node-2"], key=natural_key).index("node-2") < 2


@given(st.lists(st.integers()), st.integers(1, 5))
def test_all_items_are_written_or_counted(items: list[int], most: int) -> None:
    shown, _, more = listed(items, most).partition(" and ")
    written = shown.split(", ") if shown else []
    assert written == list(map(str, items[:most]))
    assert len(items) - len(written) == (int(more.removesuffix(" more")) if more else 0)

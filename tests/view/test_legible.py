"""Names of other people, made fit to be shown."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlviz.view.legible import legible, short


@given(st.text(st.characters(), max_size=40))
def test_no_character_that_is_shown_is_invisible_or_reorders_text(text: str) -> None:
    hidden = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
    assert not hidden & {unicodedata.category(character) for character in legible(text)}


@given(st.text(st.characters(), max_size=40))
def test_what_is_shown_can_be_written_as_utf8(text: str) -> None:
    legible(text).encode()


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("dtensor_policy_worker_v2/train", "dtensor_policy_worker_v2/train"),
        ("größe 日本 🚀", "größe 日本 🚀"),
        ("a\x00b\n", "a␀b␊"),
        ("a\x7fb", "a␡b"),
        ("\u202egnp.exe", "⟨U+202E⟩gnp.exe"),
        ("\ud800", "⟨U+D800⟩"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
    ],
)
def test_harmless_text_stays_and_hidden_characters_are_named(text: str, shown: str) -> None:
    assert legible(text) == shown


def test_an_endless_name_is_cut_and_says_how_long_it_was() -> None:
    shown = legible("x" * 1_000_000)
    assert len(shown) < 400
    assert shown.endswith("… (1,000,000 characters)")


def test_a_short_label_never_exceeds_its_place() -> None:
    assert short("ip-10-0-3-141", 8) == "ip-10-0…"
    assert len(short("\u202e" * 50, 20)) == 20

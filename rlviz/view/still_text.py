"""Texts of a still figure: how wide they are, where they break, how times are written."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

from matplotlib.font_manager import FontProperties, findfont
from matplotlib.ft2font import FT2Font, LoadFlags

from rlviz.view.legible import legible
from rlviz.view.units import UNITS

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "FAMILY",
    "HALF_LETTER",
    "SMALLEST_PT",
    "Ticks",
    "band_letter",
    "clean",
    "fit",
    "ticks",
    "width_pt",
    "wrap",
]

# It comes with matplotlib, so that a figure is the same on every machine; and it is wider than
# what a viewer of an SVG may have in its place, so that what fits here fits there.
FAMILY = "DejaVu Sans"

HALF_LETTER = 0.36
"""Of its size, how far a line's baseline lies below its middle."""

SMALLEST_PT = 5.0
"""Size of the smallest letters that can be read."""

_LONGEST = 500
# No characters: a file with one of them is no XML. `legible` passes them on.
_NO_CHARACTERS = dict.fromkeys((0xFFFE, 0xFFFF), "\ufffd")


def clean(text: str) -> str:
    r"""Make a text of the report fit to be drawn: legible, on one line, allowed in XML.

    Examples
    --------
    >>> clean("  a\tb  ")
    'a b'
    """
    return " ".join(legible(" ".join(text.split()), _LONGEST).translate(_NO_CHARACTERS).split())


def width_pt(text: str, size: float, *, bold: bool = False) -> float:
    """Give the width of a text in points.

    Examples
    --------
    >>> round(width_pt("iiiiiii", 10)), round(width_pt("MMMMMMM", 10))
    (19, 60)
    """
    return size * sum(_advance(character, bold) for character in text)


def band_letter(letter: float, band: float) -> float | None:
    """Give the size of what is written in a row's band; None where nothing could be read there.

    Parameters
    ----------
    letter : float
        The figure's ordinary letters, in points.
    band : float
        Height of the band, in points.
    """
    size = min(0.82 * letter, 0.78 * band)
    return size if size >= SMALLEST_PT else None


@cache
def _font(bold: bool) -> FT2Font:
    weight = "bold" if bold else "normal"
    # A font of our own: the size of matplotlib's is that of whatever was drawn last.
    font = FT2Font(findfont(FontProperties(family=FAMILY, weight=weight)))
    font.set_size(100, 72)
    return font


@cache
def _advance(character: str, bold: bool) -> float:
    """Give the advance of a character in ems."""
    font = _font(bold)
    if font.get_char_index(ord(character)) == 0:
        return 1.0  # the viewer of an SVG may have it, and then it is a square at most
    glyph = font.load_char(ord(character), LoadFlags.NO_HINTING)
    return glyph.linearHoriAdvance / 65536 / 100


def fit(
    variants: Sequence[str], room: float, size: float, *, bold: bool = False, least: int = 3
) -> str:
    """Give the first of `variants` that fits into `room` points, else the last one cut short.

    Parameters
    ----------
    variants : sequence of str
        Texts, the best first.
    room, size : float
        Points.
    bold : bool
        Bold characters are wider.
    least : int
        Characters that a text which is cut short keeps.

    Returns
    -------
    str
        Empty when not even `least` characters and an ellipsis fit.

    Examples
    --------
    >>> fit(["policy_worker/train", "train"], 40, 10), fit(["policy_worker/train"], 40, 10)
    ('train', 'policy…')
    >>> fit(["train"], 15, 10)
    ''
    """
    for text in variants:
        if width_pt(text, size, bold=bold) <= room:
            return text
    cut = _start(variants[-1], room - width_pt("…", size, bold=bold), size, bold=bold)
    return f"{cut}…" if len(cut) >= least else ""


def _start(text: str, room: float, size: float, *, bold: bool) -> str:
    """Give as much of the start of `text` as fits into `room`."""
    used, length = 0.0, 0
    for character in text:
        used += size * _advance(character, bold)
        if used > room:
            break
        length += 1
    return text[:length].rstrip()


def wrap(text: str, room: float, size: float, *, bold: bool = False) -> tuple[str, ...]:
    """Break a text into lines: between its parts (" · ") where it can, else between words.

    Parameters
    ----------
    text : str
        One line.
    room, size : float
        Points.
    bold : bool
        Bold characters are wider.

    Examples
    --------
    >>> wrap("2 hosts · 8 GPUs · steps 3 to 5", 110, 10)
    ('2 hosts · 8 GPUs', 'steps 3 to 5')
    """
    lines: list[str] = []
    for glue, piece in _pieces(text, room, size, bold=bold):
        joined = f"{lines[-1]}{glue}{piece}" if lines else piece
        if lines and width_pt(joined, size, bold=bold) <= room:
            lines[-1] = joined
        else:
            lines.append(piece)
    return tuple(lines)


def _pieces(text: str, room: float, size: float, *, bold: bool) -> list[tuple[str, str]]:
    """Cut a text into pieces no wider than `room`, each with what joins it to the one before."""
    found: list[tuple[str, str]] = []
    for part in text.split(" · "):
        if width_pt(part, size, bold=bold) <= room:
            found.append((" · ", part))
            continue
        glue = " · "
        for word in part.split():
            while word:
                head = word
                if width_pt(word, size, bold=bold) > room:
                    head = _start(word, room, size, bold=bold) or word[0]
                found.append((glue, head))
                word = word[len(head) :]
                glue = "" if word else " "
    return found


class Ticks:
    """Ticks of a time axis.

    Parameters
    ----------
    at : tuple of float
        Seconds.
    texts : tuple of str
        What is written below each.
    base : str
        What the texts are to be added to, "42.123 s +"; empty where they stand for themselves.
    """

    def __init__(self, start: float, end: float, step: float) -> None:
        factor, unit = next((u for u in UNITS if step >= u[0] * 0.0999), UNITS[-1])
        digits = max(0, math.ceil(-math.log10(step / factor * 1.0001)))
        group = factor * 1000
        # A hundredth of a step: a window's start may lie a rounding error below the group's.
        base = 0.0 if factor == 1 else math.floor((start + step / 100) / group) * group
        first, last = math.ceil(start / step - 1e-6), math.floor(end / step + 1e-6)
        self.at = tuple(n * step for n in range(first, last + 1))
        self.texts = tuple(f"{_unsigned((t - base) / factor):.{digits}f} {unit}" for t in self.at)
        self.base = f"{base:.{max(0, round(-math.log10(group)))}f} s +" if base else ""


def _unsigned(value: float) -> float:
    return 0.0 if abs(value) < 1e-9 else value


def ticks(start: float, end: float, room: float, size: float) -> Ticks:
    """Choose ticks between `start` and `end` seconds whose texts fit beside each other.

    Parameters
    ----------
    start, end : float
        Seconds.
    room, size : float
        Width of the axis and size of the font in points.

    Examples
    --------
    >>> ticks(0.0, 96.0, 300.0, 10.0).texts
    ('0 s', '20 s', '40 s', '60 s', '80 s')
    """
    power = math.floor(math.log10((end - start) / 12))
    for exponent in range(power, power + 4):
        for mantissa in (1, 2, 5):
            found = Ticks(start, end, mantissa * 10.0**exponent)
            widest = max((width_pt(text, size) for text in found.texts), default=0.0)
            spacing = room * mantissa * 10.0**exponent / (end - start)
            if len(found.at) <= 13 and widest + 1.6 * size <= spacing:
                return found
    return found

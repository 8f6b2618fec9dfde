"""Names from a report, made fit to be shown: nothing invisible, nothing endless."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["host_part", "legible", "short"]

LONGEST = 300

# Categories whose characters are invisible, reorder what stands around them, or are no text:
# control, format (bidi, zero width, tags), surrogate, private use, line and paragraph separator.
_HIDDEN = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})
_PLAIN = re.compile(r"[\x20-\x7e]*")


def legible(text: str, longest: int = LONGEST) -> str:
    r"""Make every character of `text` visible and cut it, saying so.

    Parameters
    ----------
    text : str
        Any string; reports carry other people's.
    longest : int
        Characters kept.

    Examples
    --------
    >>> legible("train\x00step")
    'train␀step'
    >>> legible("a\u202eb")
    'a⟨U+202E⟩b'
    >>> legible("x" * 1_000, longest=4)
    'xxxx… (1,000 characters)'
    """
    kept = text if len(text) <= longest else text[:longest]
    if _PLAIN.fullmatch(kept) is None:
        kept = "".join(map(_visible, kept))
    return kept if len(text) <= longest else f"{kept}… ({len(text):,} characters)"


def short(text: str, longest: int) -> str:
    """Cut `text` to `longest` characters with an ellipsis, for a place of fixed width.

    Examples
    --------
    >>> short("ip-10-0-3-141", 8)
    'ip-10-0…'
    """
    text = legible(text, max(longest, LONGEST))
    return text if len(text) <= longest else text[: longest - 1].rstrip() + "…"


def host_part(host: str) -> str:
    """Give the part of a host's name that tells hosts apart.

    Examples
    --------
    >>> host_part("node-3.rack-1.example.org"), host_part("10.0.3.141")
    ('node-3', '10.0.3.141')
    """
    # A name has it first; of an address all counts.
    first = host.split(".")[0]
    return host if first.isdigit() else first


def _visible(character: str) -> str:
    if unicodedata.category(character) not in _HIDDEN:
        return character
    code = ord(character)
    if code < 0x20:
        return chr(0x2400 + code)
    return "␡" if code == 0x7F else f"⟨U+{code:04X}⟩"

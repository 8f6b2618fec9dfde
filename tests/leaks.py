"""Look for a string in everything that can be reached from an object."""

from __future__ import annotations

from typing import Any

import numpy as np
import polars as pl

__all__ = ["leaks"]


def leaks(thing: object, secret: str) -> list[str]:
    """Tell where `secret` can be reached from `thing`: attributes, items, frames, texts."""
    found: list[str] = []
    _look(thing, secret, type(thing).__name__, {}, found)
    return found


def _look(
    thing: object, secret: str, where: str, seen: dict[int, object], found: list[str]
) -> None:
    if thing is None or isinstance(thing, int | float | type) or id(thing) in seen:
        return
    seen[id(thing)] = thing  # kept alive, or its id would come back as another object's
    if secret in _text(thing):
        found.append(where)
    for name, inner in _inside(thing):
        _look(inner, secret, f"{where}.{name}", seen, found)


def _text(thing: object) -> str:
    if isinstance(thing, pl.Series):
        thing = thing.to_frame()
    if isinstance(thing, pl.DataFrame):
        # numbers hold no secrets, names repeat, and nested columns cannot be written as CSV
        columns = [thing[c] for c in thing.columns if not thing[c].dtype.is_numeric()]
        texts = (c if c.dtype.is_nested() else c.unique() for c in columns)
        return " ".join([*thing.columns, *(text.to_frame().write_json() for text in texts)])
    if isinstance(thing, np.ndarray):
        return str(thing.tolist()) if thing.dtype.kind in "OSU" else ""
    if isinstance(thing, dict | list | tuple | set | frozenset):
        return ""  # what is inside is looked at by itself
    if isinstance(thing, bytes | bytearray):
        return bytes(thing).decode("utf-8", "replace")
    return f"{thing!s}\n{thing!r}"


def _inside(thing: Any) -> list[tuple[str, object]]:
    if isinstance(thing, str | bytes | pl.DataFrame | pl.Series | np.ndarray):
        return []
    if isinstance(thing, dict):
        keys = [("key", key) for key in thing]
        return keys + [(str(key), value) for key, value in thing.items()]
    if isinstance(thing, list | tuple | set | frozenset):
        return [(str(place), inner) for place, inner in enumerate(thing)]
    slots = [name for kind in type(thing).__mro__ for name in getattr(kind, "__slots__", ())]
    names = [*getattr(thing, "__dict__", {}), *slots]
    return [(name, getattr(thing, name, None)) for name in names]

"""Values in the store: plain data of known classes, as JSON beside columns; never code."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

__all__ = ["pack", "unpack"]

_PLAIN = (str, int, float, bool, type(None))


def pack(value: object) -> tuple[Any, dict[str, pl.DataFrame]]:
    """Turn a value into JSON and frames.

    Parameters
    ----------
    value : object
        Scalars, tuples, lists, sets, dicts, arrays, frames, and dataclasses and named tuples of
        these.

    Returns
    -------
    json : Any
        The value, with a number in place of each column.
    frames : dict of str to polars.DataFrame
        The columns by that number.

    Raises
    ------
    TypeError
        It holds something else.
    """
    frames: dict[str, pl.DataFrame] = {}
    return _packed(value, frames), frames


def unpack(
    json: Any,  # noqa: ANN401  - whatever JSON has
    frame: Callable[[str], pl.DataFrame],
    classes: Sequence[type],
) -> Any:  # noqa: ANN401
    """Turn what `pack` made into the value again.

    Parameters
    ----------
    json : Any
        As of `pack`.
    frame : callable
        Gives a frame by its number.
    classes : sequence of type
        The dataclasses and named tuples that may be made, and no others.

    Raises
    ------
    ValueError
        It is nothing that `pack` makes of such classes.
    """
    known = {one.__name__: one for one in classes}

    def made(node: Any) -> Any:  # noqa: ANN401
        if isinstance(node, _PLAIN):
            return node
        kind, *rest = node
        if kind == "array":
            column = frame(rest[0]).to_series().to_numpy()
            return column.reshape(rest[1])
        if kind == "frame":
            return frame(rest[0])
        if kind in _MAKERS:
            return _MAKERS[kind](rest[0] if _all_texts(rest[0]) else map(made, rest[0]))
        if kind == "dict":
            return {made(key): made(one) for key, one in rest[0]}
        if kind == "object" and rest[0] in known:
            return known[rest[0]](**{name: made(one) for name, one in rest[1].items()})
        msg = f"no value of kind {kind!r} is known"
        raise ValueError(msg)

    return made(json)


_MAKERS: Mapping[str, Callable[[Any], Any]] = {
    "list": list,
    "tuple": tuple,
    "frozenset": frozenset,
}


def _packed(value: object, frames: dict[str, pl.DataFrame]) -> Any:  # noqa: ANN401
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, np.ndarray):
        flat = pl.Series("values", np.ascontiguousarray(value).reshape(-1))
        return ["array", _framed(flat.to_frame(), frames), list(value.shape)]
    if isinstance(value, pl.DataFrame):
        return ["frame", _framed(value, frames)]
    if is_dataclass(value):
        names = [field.name for field in fields(value)]
    elif isinstance(value, tuple) and hasattr(value, "_fields"):
        names = list(value._fields)
    elif isinstance(value, dict):
        return ["dict", [[_packed(k, frames), _packed(v, frames)] for k, v in value.items()]]
    elif type(value).__name__ in _MAKERS:
        inner = list(value)  # type: ignore[call-overload]
        texts = _all_texts(inner)
        return [type(value).__name__, inner if texts else [_packed(one, frames) for one in inner]]
    else:
        msg = f"a {type(value).__name__} cannot be kept"
        raise TypeError(msg)
    inside = {name: _packed(getattr(value, name), frames) for name in names}
    return ["object", type(value).__name__, inside]


def _all_texts(values: list[Any]) -> bool:
    """Tell names, which may be a million, from what has to be looked at one by one."""
    return set(map(type, values)) <= {str}


def _framed(frame: pl.DataFrame, frames: dict[str, pl.DataFrame]) -> str:
    number = str(len(frames))
    frames[number] = frame
    return number

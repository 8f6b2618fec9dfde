"""Rows of a chart, chosen by number or by text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rlviz.view.scene import Row, Scene

__all__ = ["named_rows", "rows_from_text"]


def named_rows(scene: Scene, rows: Sequence[int] | str | None) -> tuple[Row, ...]:
    """Give the rows that a caller names.

    Parameters
    ----------
    scene : Scene
        The chart.
    rows : sequence of int or str or None
        Numbers of rows, or a text that their label, host, pool or run contains; None for all.

    Raises
    ------
    ValueError
        There is no such row.
    """
    if rows is None:
        return scene.rows
    if isinstance(rows, str):
        text = rows.casefold()
        found = tuple(
            row
            for row in scene.rows
            if any(text in part.casefold() for part in (row.label, row.host, row.pool, row.group))
        )
        if not found:
            msg = f"no row has {rows!r} in its label, host or pool"
            raise ValueError(msg)
        return found
    known = {row.row: row for row in scene.rows}
    strange = sorted(set(rows) - set(known))
    if strange or not len(rows):
        msg = f"no rows {strange}: there are {sorted(known)}" if strange else "no rows to draw"
        raise ValueError(msg)
    return tuple(row for row in scene.rows if row.row in set(rows))


def rows_from_text(text: str) -> list[int] | str:
    """Read what a person wrote of the rows that are meant: what `named_rows` takes.

    Examples
    --------
    >>> rows_from_text("0,3"), rows_from_text("policy")
    ([0, 3], 'policy')
    """
    parts = text.split(",")
    return [int(part) for part in parts] if all(p.strip().isdecimal() for p in parts) else text

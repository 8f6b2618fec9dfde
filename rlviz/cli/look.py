"""What figures look like and pages hold: the options that several commands take for it."""

from __future__ import annotations

import inspect
from functools import wraps
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Look", "with_look"]

_INCHES = {"mm": 1 / 25.4, "cm": 1 / 2.54, "in": 1.0, "": 1.0}


class Look(NamedTuple):
    """What figures look like, and what pages hold."""

    figures: dict[str, Any]
    pages: dict[str, Any]


def _look_of(
    window: Annotated[
        str | None,
        typer.Option(
            metavar="START,END", help="Part to draw, in seconds of the time axis (figures)."
        ),
    ] = None,
    rows: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|N,N",
            help="Rows to draw: a text of their label, host or pool, or numbers (figures).",
        ),
    ] = None,
    width: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="As 12, 12in or 85mm; default 12in (figures)."),
    ] = None,
    height: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Default: what the rows need (figures).")
    ] = None,
    theme: Annotated[
        str, typer.Option(metavar="light|dark|print", help="Colours (figures).")
    ] = "light",
    title: Annotated[
        str | None, typer.Option(help='In place of the run\'s; "" for none (figures).')
    ] = None,
    caption: Annotated[
        bool,
        typer.Option("--caption/--no-caption", help="Tell numbers, alignment, notes (figures)."),
    ] = True,
    detail: Annotated[
        str | None,
        typer.Option(
            metavar="MB|none", help="How much detail a page holds, at most; default 6 MB (pages)."
        ),
    ] = None,
    expand: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT|N,N",
            help="Rows that a page of one run shows with their threads, as --rows (pages).",
        ),
    ] = None,
) -> Look:
    """Read the options of figures and pages."""
    from rlviz.view.named_rows import rows_from_text

    figures = {
        "window": None if window is None else _two_numbers(window),
        "rows": None if rows is None else rows_from_text(rows),
        "width": None if width is None else _inches("--width", width),
        "height": None if height is None else _inches("--height", height),
        "theme": theme,
        "title": title,
        "caption": caption,
    }
    expanded = None if expand is None else rows_from_text(expand)
    return Look(figures, {"detail": _detail(detail), "expand": expanded})


def with_look(command: Callable[..., None]) -> Callable[..., None]:
    """Give a command the options of `_look_of` in place of its parameter `look`."""
    shared = inspect.signature(_look_of, eval_str=True).parameters

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 - what the command line says
        look = _look_of(**{name: given.pop(name) for name in shared})
        command(**given, look=look)

    parameters: list[inspect.Parameter] = []
    for name, parameter in inspect.signature(command, eval_str=True).parameters.items():
        parameters += shared.values() if name == "look" else [parameter]
    # Typer reads both.
    run.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [one.replace(kind=inspect.Parameter.KEYWORD_ONLY) for one in parameters]
    )
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    # Who unwraps it would find the parameters of the command.
    del run.__wrapped__
    return run


def _two_numbers(text: str) -> tuple[float, float]:
    try:
        start, end = map(float, text.split(","))
    except ValueError:
        message = f"--window: {text!r} is not START,END in seconds, as 30,45.5"
        raise typer.BadParameter(message) from None
    return start, end


def _inches(option: str, text: str) -> float:
    number = text.strip().rstrip("cimn")
    unit = text.strip()[len(number) :]
    try:
        return float(number) * _INCHES[unit]
    except (ValueError, KeyError):
        message = f"{option}: {text!r} is no size: 12, 12in, 30cm or 85mm"
        raise typer.BadParameter(message) from None


def _detail(text: str | None) -> bool | float:
    if text is None:
        return True
    if text == "none":
        return False
    try:
        return float(text)
    except ValueError:
        message = f"--detail: {text!r} is neither a number of MB nor none"
        raise typer.BadParameter(message) from None

"""What tests look at in the only chart of a page: its lens, its pixels, what it says at a place."""

from __future__ import annotations

from io import BytesIO
from typing import TYPE_CHECKING, Any

from PIL import Image

from tests.browser.conftest import settle

if TYPE_CHECKING:
    from playwright.sync_api import Page

# What a test may look at: the lens of the only chart.
LENS = "document.querySelector('.rlviz').rlviz"


def lens(page: Page, expression: str) -> Any:
    return page.evaluate(f"() => {{ const lens = {LENS}; return {expression}; }}")


def window(page: Page) -> tuple[float, float]:
    start, end = lens(page, "lens.window")
    return start, end


def place(page: Page, at_s: float, row: int, height: float = 0.5) -> tuple[float, float]:
    """Give the pixel of a time and a row, `height` of its band down from the top."""
    x, y = page.evaluate(
        f"""([at, row, height]) => {{
          const lens = {LENS};
          const box = lens.view.el.getBoundingClientRect();
          const [start, end] = lens.window;
          const {{ top, bottom }} = lens.facts.rows.find((one) => one.row === row);
          const frame = lens.frame;
          const units = (top + (bottom - top) * height) / lens.facts.height;
          return [
            box.left + frame.left + ((at - start) / (end - start)) * frame.width,
            box.top + frame.top + units * (frame.bottom - frame.top),
          ];
        }}""",
        [at_s, row, height],
    )
    return x, y


def hover(page: Page, at_s: float, row: int, height: float = 0.5) -> str:
    x, y = place(page, at_s, row, height)
    page.mouse.move(x - 3, y)
    page.mouse.move(x, y)
    settle(page)
    tip = page.locator(".rlviz-tip")
    return tip.inner_text() if tip.is_visible() else ""


def rgb(color: str) -> tuple[int, ...]:
    return tuple(int(color[i : i + 2], 16) for i in (1, 3, 5))


def screenshot(page: Page) -> Image.Image:
    return Image.open(BytesIO(page.screenshot())).convert("RGB")


def pixel(page: Page, x: float, y: float) -> Any:
    return screenshot(page).getpixel((int(x), int(y)))


def contrast(one: str, other: str) -> float:
    """Give the contrast of two colours as WCAG 2 defines it."""

    def luminance(color: str) -> float:
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        r, g, b = (p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)

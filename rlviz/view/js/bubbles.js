// Bubbles, marked inside of the gaps that they are: a text between two arrows, where it has room.

// In pixels: an arrow beside the text, its head, and air between them.
const ARROW_PX = 8;
const HEAD_PX = 5;
const GAP_PX = 3;
// Of the letters' size: how far the lower edge of a text lies below its middle.
const BELOW_MIDDLE = 0.58;

function addArrows(lines, [from, until], [before, behind], y, scale, rowPx) {
  const add = (x0, y0, x1, y1) => {
    lines.x0.push(x0);
    lines.y0.push(y0);
    lines.x1.push(x1);
    lines.y1.push(y1);
  };
  for (const [tip, inner, towards] of [[from, before, 1], [until, behind, -1]]) {
    add(tip, y, inner, y);
    for (const up of [-1, 1]) add(tip, y, tip + (towards * HEAD_PX) / scale, y + (up * HEAD_PX) / 2 / rowPx);
  }
}

// What to draw of the bubbles in a window, and by row what is taken of it: left and right in pixels
// from the frame's left, and the upper edge of a line of text below the row's top.
export function layBubbles({ facts, small }, hiddenRows, { start, end, scale }) {
  const lines = { x0: [], y0: [], x1: [], y1: [] };
  const texts = { x: [], y: [], text: [] };
  const taken = new Map();
  const { row_px: rowPx, label_px: labelPx } = facts;
  for (const { row: number, left, right, texts: known } of facts.bubbles) {
    const row = facts.rows.find((one) => one.row === number);
    const [from, until] = [Math.max(left, start), Math.min(right, end)];
    const room = (until - from) * scale - 2 * (ARROW_PX + GAP_PX);
    if (row === undefined || hiddenRows.has(number) || !(room > 0)) continue;
    const text = known.find((one) => small.width(one) <= room);
    if (text === undefined) continue;
    const [middle, y] = [(from + until) / 2, (row.top + row.bottom) / 2];
    const half = (small.width(text) / 2 + GAP_PX) / scale;
    addArrows(lines, [from, until], [middle - half, middle + half], y, scale, rowPx);
    texts.x.push(middle);
    texts.y.push(y + (BELOW_MIDDLE * labelPx) / rowPx);
    texts.text.push(text);
    if (!taken.has(number)) taken.set(number, []);
    const at = (y - row.top) * rowPx - (labelPx + 3) / 2;
    taken.get(number).push({ x0: (from - start) * scale, x1: (until - start) * scale, at });
  }
  return { lines, texts, taken };
}

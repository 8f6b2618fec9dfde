// Which texts fit where: ranges, brackets and lines are labelled anew at every zoom.

import { layBubbles } from "./bubbles.js";
import { duration } from "./units.js";

const SMALLEST_PX = 22;
// Of a label that a search did not find.
const FADED_LABEL = 0.35;
// A label's last line may reach this far out of its range: letters seldom do.
const OVERHANG_PX = 3;
// A line below another is a line's height away, but for rounding.
const ROUNDING_PX = 1e-6;

class Ruler {
  constructor(font) {
    this.context = document.createElement("canvas").getContext("2d");
    this.context.font = font;
    this.known = new Map();
  }

  width(text) {
    let width = this.known.get(text);
    if (width === undefined) {
      if (this.known.size > 20000) this.known.clear();
      this.known.set(text, (width = this.context.measureText(text).width));
    }
    return width;
  }

  // The first of `texts` that fits into `room`, else the last one cut with an ellipsis, else "".
  fit(texts, room) {
    for (const text of texts) if (this.width(text) <= room) return text;
    const last = texts[texts.length - 1];
    let length = Math.floor((last.length * room) / this.width(last));
    for (; length >= 3; length--) {
      const cut = `${last.slice(0, length).trimEnd()}…`;
      if (this.width(cut) <= room) return cut;
    }
    return "";
  }
}

// A range's texts, longest first: the last part of a path tells more than its head. In a low row
// a label lies on the activity itself: there it is as short as can be.
function variants(name, seconds, low) {
  const tail = name.slice(name.lastIndexOf("/") + 1) || name;
  const length = `  [${duration(seconds)}]`;
  return low ? [tail + length, tail] : [name + length, name, tail];
}

export class Labels {
  constructor(doc, facts, marks) {
    this.facts = facts;
    this.marks = marks;
    this.ranges = doc.get_model_by_name("overlay-labels");
    this.lines = doc.get_model_by_name("line-labels");
    this.arrows = doc.get_model_by_name("bubbles");
    this.bubbles = doc.get_model_by_name("bubble-labels");
    this.brackets = new Map();
    for (const bracket of facts.brackets) {
      const source = doc.get_model_by_name(`bracket-labels-${bracket.pool}`);
      if (!this.brackets.has(source)) this.brackets.set(source, []);
      this.brackets.get(source).push(bracket);
    }
    this.small = new Ruler(`${facts.label_px}px ${facts.font}`);
    this.bold = new Ruler(`bold 12px ${facts.font}`);
    this.tiny = new Ruler(`9px ${facts.font}`);
  }

  // Label what `start` to `end` shows on `width` pixels.
  update(start, end, width) {
    if (!(width > 0)) return;
    const view = { start, end, scale: width / (end - start) };
    const { lines, texts, taken } = layBubbles(this, this.marks.hiddenRows, view);
    if (this.bubbles !== null) [this.arrows.data, this.bubbles.data] = [lines, texts];
    this.ranges.data = this.rangeLabels(view, taken);
    for (const [source, brackets] of this.brackets) {
      source.data = this.bracketLabels(brackets, view);
    }
    if (this.lines !== null) this.lines.data = this.lineLabels(view);
  }

  // Beside bubbles, which have their places first.
  rangeLabels(view, bubbles) {
    const found = { x: [], y: [], text: [], alpha: [] };
    for (const row of this.facts.rows) {
      const list = this.marks.overlayRows.get(row.row);
      if (list === undefined) continue;
      const taken = [...(bubbles.get(row.row) ?? [])];
      for (const i of list) this.rangeLabel(i, row, view, taken, found);
    }
    return found;
  }

  // Outer ranges come first; one that is nested goes below the labels that are there, as long as
  // that is still inside its own outline.
  rangeLabel(i, row, { start, end, scale }, taken, found) {
    const { left, right, top, bottom, name } = this.marks.overlays;
    const { row_px: rowPx, label_px: labelPx, names } = this.facts;
    const linePx = labelPx + 3;
    const from = Math.max(left[i], start);
    const room = (Math.min(right[i], end) - from) * scale - 7;
    if (room < SMALLEST_PX) return;
    const bandPx = (row.bottom - row.top) * rowPx;
    const lastPx = (bottom[i] - row.top) * rowPx - linePx + OVERHANG_PX;
    let at = (top[i] - row.top) * rowPx;
    if (at > lastPx) return;
    const low = bandPx < 2 * linePx;
    const text = this.small.fit(variants(names[name[i]], right[i] - left[i], low), room);
    if (text === "") return;
    const x0 = (from - start) * scale;
    const x1 = x0 + this.small.width(text) + 8;
    for (;;) {
      const other = taken.find((one) => one.x0 < x1 && x0 < one.x1 && Math.abs(one.at - at) < linePx - ROUNDING_PX);
      if (other === undefined) break;
      at = other.at + linePx;
      if (at > lastPx) return;
    }
    taken.push({ x0, x1, at });
    found.x.push(from);
    found.y.push(row.top + at / rowPx);
    found.text.push(text);
    found.alpha.push(this.search?.active && !this.search.hit(name[i]) ? FADED_LABEL : 1);
  }

  bracketLabels(brackets, { start, end, scale }) {
    const found = { x: [], y: [], text: [] };
    for (const { left, right, y, text } of brackets) {
      const from = Math.max(left, start);
      const until = Math.min(right, end);
      const room = (until - from) * scale - 8;
      // "Gen 3  (weights 3)", "Gen 3", "3".
      const head = text.split("  ")[0];
      const fitting = this.bold.fit([text, head, head.split(" ").pop()], room);
      if (fitting === "") continue;
      found.x.push((from + until) / 2);
      found.y.push(y);
      found.text.push(fitting);
    }
    return found;
  }

  lineLabels({ start, end, scale }) {
    const found = { x: [], y: [], text: [] };
    const lines = this.facts.lines.filter(({ at }) => at >= start && at <= end);
    lines.forEach(({ at, text }, i) => {
      const room = ((lines[i + 1]?.at ?? end) - at) * scale - 6;
      if (this.tiny.width(text) > room) return;
      found.x.push(at);
      found.y.push(this.facts.height);
      found.text.push(text);
    });
    return found;
  }
}

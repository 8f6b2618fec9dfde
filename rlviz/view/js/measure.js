// Measuring: Shift and drag, or drag while it is switched on. Between two moments: how long, and
// how busy each pool and the row under the pointer are.

import { element } from "./element.js";
import { clock, duration, percent } from "./units.js";

const LEAST_PX = 4;
const AIR_PX = 8;
// Shades of rows whose busy time nothing tells.
const UNKNOWN = ["no_gpu_data", "reading"];

// What of the frame an event of the pointer is at: seconds, row units and its row; null outside.
export function placeOf(lens, { clientX, clientY }) {
  const box = lens.view.el.getBoundingClientRect();
  const { left, right, top, bottom, width } = lens.frame;
  const [x, y] = [clientX - box.left, clientY - box.top];
  const [start, end] = lens.window;
  const units = ((y - top) / (bottom - top)) * lens.facts.height;
  return {
    at: start + ((end - start) * Math.min(Math.max(x - left, 0), width)) / width,
    units,
    row: lens.facts.rows.find((one) => one.top <= units && units <= one.bottom),
    y,
    inside: left <= x && x <= right && top <= y && y <= bottom,
  };
}

// Of some rows those with GPU data, and what part of a span was captured of them.
export function seenOf({ shades }, rows, start, end) {
  const bare = new Set(shades.filter(({ kind }) => UNKNOWN.includes(kind)).map(({ row }) => row));
  const known = rows.filter(({ row }) => !bare.has(row));
  const own = new Set(known.map(({ row }) => row));
  const dark = shades
    .filter(({ row, kind }) => own.has(row) && kind === "not_captured")
    .reduce((sum, { left, right }) => sum + Math.max(Math.min(right, end) - Math.max(left, start), 0), 0);
  const all = known.length * (end - start);
  // Of a moment, what is left by rounding is nothing.
  return { known, captured: all - dark > all * 1e-9 ? all - dark : 0, all };
}

// Of several runs in one chart, each has a name.
export function named(group, text) {
  return group ? `${group}: ${text}` : text;
}

// How busy rows are together: busy time over captured time.
function busyWords(facts, rows, busy, start, end) {
  const { known, captured } = seenOf(facts, rows, start, end);
  if (known.length === 0) return "unknown: no GPU data";
  if (captured === 0) return "not captured here";
  const sum = known.reduce((all, { row }) => all + (busy.get(row) ?? 0), 0);
  const part = known.length < rows.length ? ` (${known.length} of ${rows.length} rows)` : "";
  return `${percent(Math.min(sum / captured, 1))}${part}`;
}

export class Measure {
  constructor(lens) {
    this.lens = lens;
    this.armed = false;
    this.span = null;
    this.turn = 0;
    this.watchers = new Set();
    this.band = element("div", "measure");
    this.words = element("div", "measure-words");
    this.words.setAttribute("role", "status");
    this.words.setAttribute("aria-label", "measured");
    this.band.hidden = this.words.hidden = true;
    const { plot } = lens.chrome;
    plot.append(this.band, this.words);
    // Before Bokeh, which would pan.
    plot.addEventListener("pointerdown", (event) => this.begin(event), true);
    plot.addEventListener("pointermove", (event) => this.drag(event));
    plot.addEventListener("pointerup", (event) => this.finish(event));
    plot.addEventListener("pointercancel", () => this.clear());
  }

  // Whether a plain drag measures.
  arm(armed) {
    this.armed = armed;
    this.lens.chrome.plot.classList.toggle("rlviz-measuring", armed);
    for (const watcher of this.watchers) watcher(armed);
  }

  begin(event) {
    if (event.button !== 0 || !(event.shiftKey || this.armed)) return;
    const { at, units, row, y, inside } = placeOf(this.lens, event);
    if (!inside) return;
    event.stopPropagation();
    event.preventDefault();
    this.lens.hover.hide();
    this.lens.root.focus({ preventScroll: true });
    this.clear();
    this.lens.chrome.plot.setPointerCapture(event.pointerId);
    this.from = { at, units, x: event.clientX };
    this.moving = event.pointerId;
    this.aim(at, row, y);
  }

  drag(event) {
    if (event.pointerId !== this.moving) return;
    const { at, row, y } = placeOf(this.lens, event);
    this.aim(at, row, y);
  }

  aim(at, row, y) {
    const { at: from } = this.from;
    this.span = { start: Math.min(from, at), end: Math.max(from, at), row, y };
    this.tell([]);
  }

  finish(event) {
    if (event.pointerId !== this.moving) return;
    this.moving = undefined;
    if (Math.abs(event.clientX - this.from.x) < LEAST_PX) this.clear();
    else this.ask();
  }

  // Whether there was something to clear.
  clear() {
    const was = this.span !== null;
    this.turn++;
    this.span = null;
    this.moving = undefined;
    this.band.hidden = this.words.hidden = true;
    return was;
  }

  // Busy shares, from whoever has the events.
  async ask() {
    const turn = ++this.turn;
    const { start, end, row } = this.span;
    const { facts, detail } = this.lens;
    if (detail.source?.busy === undefined) return;
    let told;
    try {
      const { busy } = await detail.source.busy({ start, end, rows: null });
      const known = new Map(busy);
      const of = (rows) => busyWords(facts, rows, known, start, end);
      told = facts.pools
        .filter(({ name }) => name !== "other")
        .map(({ name, group }) => {
          const own = facts.rows.filter((one) => one.pool === name && one.group === group);
          return `${named(group, name)} busy ${of(own)}`;
        });
      if (row !== undefined) told.push(`${named(row.group, row.label)} busy ${of([row])}`);
    } catch (error) {
      told = [`busy shares unknown: ${error.message}`];
    }
    if (turn === this.turn && !this.lens.gone) this.tell(told);
  }

  tell(lines) {
    const { start, end } = this.span;
    const length = end - start;
    this.words.replaceChildren(
      element("b", "", duration(length)),
      ...[`${clock(start, length)} to ${clock(end, length)}`, ...lines].map((text) => element("div", "", text)),
    );
    this.place();
  }

  // Again when the window moves: what is measured stays where it is on the time axis.
  place() {
    if (this.span === null) return;
    const { frame, window: [first, last] } = this.lens;
    const x = (at) => frame.left + ((at - first) / (last - first)) * frame.width;
    const left = Math.max(x(this.span.start), frame.left);
    const right = Math.min(x(this.span.end), frame.right);
    this.band.hidden = this.words.hidden = !(left <= right);
    if (this.band.hidden) return;
    const put = (one, numbers) => {
      for (const [key, number] of Object.entries(numbers)) one.style[key] = `${number}px`;
    };
    put(this.band, { left, width: right - left, top: frame.top, height: frame.bottom - frame.top });
    this.band.classList.toggle("rlviz-measure-from", x(this.span.start) >= frame.left);
    this.band.classList.toggle("rlviz-measure-until", x(this.span.end) <= frame.right);
    this.words.style.maxWidth = `${frame.width - 2 * AIR_PX}px`;
    const { offsetWidth: width, offsetHeight: height } = this.words;
    // Beside what is measured, where there is room; else over it.
    const beside = right + AIR_PX + width <= frame.right ? right + AIR_PX : left - AIR_PX - width;
    const over = Math.max(Math.min((left + right - width) / 2, frame.right - width - AIR_PX), frame.left + AIR_PX);
    const down = Math.min(Math.max(this.span.y - height / 2, frame.top), frame.bottom - height);
    put(this.words, { left: beside >= frame.left ? beside : over, top: Math.max(down, 0) });
  }
}

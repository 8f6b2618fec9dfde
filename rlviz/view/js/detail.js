// Detail of the window that a chart shows, from whoever has it: the kernel, or the page itself.
// Buckets while events are many, the events themselves below that, and exact ranges.

import { Raster, rgba } from "./raster.js";

const DEBOUNCE_MS = 30;
const PATIENCE_MS = 2000;
const GIVE_UP_MS = 10000;
const WAITS = "The chart waits for the kernel: until it answers, detail is missing.";
// Asked for on either side, in widths of the window: a small move shows nothing new.
const MARGIN = 0.5;
// As for the bars of the first view: what is there at all stays visible.
const LEAST_HEIGHT = 0.04;
// Buckets and merged ranges wider than this are asked for anew.
const COARSE_PX = 2.05;

// Events this wide have an edge of their own.
const APART_PX = 4;
const DARKER = 0.65;

export const OVERLAY_COLUMNS = [
  "left", "right", "top", "bottom", "row", "name", "domain", "thread", "color", "depth", "count",
  "truncated", "parent_share", "shown",
];

function cut(values, lengths) {
  let from = 0;
  return lengths.map((length) => values.subarray(from, (from += length)));
}

// What the kernel answered, as columns: `facts` and bytes as `rlviz.view.detail` gives them.
export function unpack(facts, columns) {
  const [coverage, color, count, left, right, row, name, eventColor, ranges] = columns;
  const lengths = facts.strips.map(([, , , length]) => length);
  const coverages = cut(coverage, lengths);
  const colors = cut(color, lengths);
  const counts = cut(new Int32Array(count.buffer), lengths);
  const strips = facts.strips.map(([number, start, width], i) => ({
    row: number, start, width, coverage: coverages[i], color: colors[i], count: counts[i],
  }));
  const events = {
    left: new Float64Array(left.buffer),
    right: new Float64Array(right.buffer),
    row: new Int32Array(row.buffer),
    name: new Int32Array(name.buffer),
    color: eventColor,
  };
  const numbers = new Float64Array(ranges.buffer);
  const each = numbers.length / OVERLAY_COLUMNS.length;
  const overlays = Object.fromEntries(
    OVERLAY_COLUMNS.map((key, i) => [key, numbers.subarray(i * each, (i + 1) * each)]),
  );
  return { ...facts, strips, events, overlays };
}

// Events of each row: indices, in order.
function eventRows({ row }) {
  const found = new Map();
  for (let i = 0; i < row.length; i++) {
    let own = found.get(row[i]);
    if (own === undefined) found.set(row[i], (own = []));
    own.push(i);
  }
  return found;
}

export class Detail {
  // `bars` is Bokeh's view of the bars of the first view: detail is painted in their place.
  constructor(lens, bars) {
    this.lens = lens;
    this.bars = bars;
    this.picture = null;
    this.shown = null;
    this.raster = new Raster();
    this.drawn = 0;
    // A test looks at it.
    this.asked = 0;
    this.inks = new Map();
    const { left, right, count } = lens.marks.bars;
    // Bars that are events themselves have no more detail.
    this.coarsest = left.reduce(
      (most, start, i) => (count[i] > 1 ? Math.max(most, right[i] - start) : most), 0,
    );
    this.paintInPlaceOfBars();
  }

  // `ask` takes start, end and width, and promises a picture, as `unpack` gives it.
  connect(ask) {
    this.ask = ask;
    this.moved();
  }

  connectKernel(request) {
    this.connect(async (window) => unpack(...(await request(window))));
  }

  moved() {
    this.show();
    if (this.ask === undefined || !this.wanting()) return;
    // Not put off by the next move: a wheel that turns on would never see detail.
    this.resting ??= setTimeout(() => {
      this.resting = undefined;
      this.request();
    }, DEBOUNCE_MS);
  }

  // Whether what is drawn is coarser than the window's pixels.
  wanting() {
    const [start, end] = this.lens.window;
    const pixel = (end - start) / this.pixels;
    if (!(pixel > 0)) return false;
    if (!this.covers) return !this.enough;
    const { strips, merged } = this.picture;
    // Where no more can be had, the same window is not asked for again.
    if (this.lens.window.join() === this.answered) return false;
    return merged > pixel * COARSE_PX || strips.some(({ width }) => width > pixel * COARSE_PX);
  }

  // Whether the marks of the first view are as fine as the window's pixels.
  get enough() {
    const [start, end] = this.lens.window;
    const pixel = (end - start) / this.pixels;
    return this.coarsest <= pixel * COARSE_PX && !this.lens.marks.coarse(pixel);
  }

  get pixels() {
    return this.lens.frame.width * devicePixelRatio;
  }

  get covers() {
    const [start, end] = this.lens.window;
    const [first, last] = this.lens.facts.limits;
    const { picture } = this;
    return (
      picture !== null &&
      picture.start <= Math.max(start, first) && picture.end >= Math.min(end, last)
    );
  }

  // One request at a time; the newest window is asked for when it is answered.
  async request() {
    if (this.gone || !this.wanting()) return;
    if (this.waits !== undefined && performance.now() - this.waits < GIVE_UP_MS) {
      this.again = true;
      return;
    }
    const turn = ++this.asked;
    this.waits = performance.now();
    this.again = false;
    this.patience ??= setTimeout(() => this.tell(WAITS), PATIENCE_MS);
    const [start, end] = this.lens.window;
    const [first, last] = this.lens.facts.limits;
    const margin = (end - start) * MARGIN;
    const from = Math.max(start - margin, first);
    const until = Math.min(end + margin, last);
    // Buckets of one to two pixels: narrower ones would share a pixel and show the busiest only.
    const width = Math.max(1, Math.round((this.pixels * (until - from)) / (end - start) / 2));
    try {
      const picture = await this.ask({ start: from, end: until, width: Math.min(width, 20000) });
      if (turn !== this.asked || this.gone) return;
      this.settled("");
      this.answered = [start, end].join();
      this.use(picture);
    } catch (error) {
      if (turn !== this.asked || this.gone) return;
      this.settled(`No more detail: ${error.message}`);
      return;
    }
    if (this.again || this.wanting()) this.moved();
  }

  settled(text) {
    clearTimeout(this.patience);
    this.patience = undefined;
    this.waits = undefined;
    this.tell(text);
  }

  // Others tell things too: what they told is theirs to take back.
  tell(text) {
    if (text === (this.told ?? "")) return;
    this.told = text;
    this.lens.chrome.tell(text);
  }

  use(picture) {
    const { names } = this.lens.facts;
    for (const [code, text] of Object.entries(picture.names)) names[code] ||= text;
    this.picture = picture;
    this.rows = eventRows(picture.events);
    this.shown = null;
    this.show();
    this.repaint();
  }

  // Ranges of the picture while it covers the window, else those of the first view.
  show() {
    const shown = this.covers ? this.picture : null;
    if (shown === this.shown) return;
    this.shown = shown;
    this.lens.marks.replaceRanges(shown?.overlays ?? null);
    this.lens.relabel();
  }

  repaint() {
    if (typeof this.bars.request_paint === "function") this.bars.request_paint();
    else this.bars.model.data_source.change.emit();
  }

  paintInPlaceOfBars() {
    const glyph = this.bars.glyph;
    if (typeof glyph?._paint !== "function") return;
    const paintBars = glyph._paint.bind(glyph);
    glyph._paint = (context, indices, data) => {
      const far = !this.suits || (!this.covers && this.enough);
      if (far) return paintBars(context, indices, data);
      this.paintAround(context, () => paintBars(context, indices, data));
      this.paint(context);
    };
  }

  // The bars of the first view where the picture does not reach.
  paintAround(context, paintBars) {
    if (this.covers) return;
    const { left, right, top, bottom } = this.lens.frame;
    const [from, until] = [this.picture.start, this.picture.end].map((at) => this.x(at));
    for (const [x, end] of [[left, from], [until, right]]) {
      const start = Math.max(Math.round(x), left);
      const width = Math.min(Math.round(end), right) - start;
      if (!(width > 0)) continue;
      context.save();
      context.beginPath();
      context.rect(start - 0.5, top - 0.5, width, bottom - top);
      context.clip();
      paintBars();
      context.restore();
    }
  }

  x(at) {
    const [start, end] = this.lens.window;
    const { left, width } = this.lens.frame;
    return left + ((at - start) / (end - start)) * width;
  }

  paint(context) {
    const { left, top, bottom, width } = this.lens.frame;
    const [start, end] = this.lens.window;
    const ratio = devicePixelRatio;
    const { raster } = this;
    raster.begin(Math.round(width * ratio), Math.round((bottom - top) * ratio));
    const scale = (width * ratio) / (end - start);
    const units = ((bottom - top) * ratio) / this.lens.facts.height;
    this.drawn = 0;
    for (const strip of this.picture.strips) this.paintStrip(strip, start, end, scale, units);
    this.paintEvents(start, end, scale, units);
    raster.draw(context, left, top, width, bottom - top);
  }

  // Where a row stands; nowhere while it is hidden.
  place(number) {
    if (this.lens.marks.hiddenRows.has(number)) return undefined;
    return this.lens.facts.rows.find(({ row }) => row === number);
  }

  // Whether the picture can be painted in the chosen colours.
  get suits() {
    const { coloring } = this.lens.controls;
    if (this.picture === null) return false;
    return this.picture.strips.length > 0 ? coloring.suitsStrips : coloring.suitsEvents;
  }

  // The pixels of a colour: `part` of its light.
  ink(color, part, name) {
    const css = this.lens.controls.coloring.fill(color, name);
    const key = `${css}${part}`;
    let found = this.inks.get(key);
    if (found === undefined) this.inks.set(key, (found = rgba(css, part)));
    return found;
  }

  paintStrip({ row, start: from, width, coverage, color }, start, end, scale, units) {
    const place = this.place(row);
    if (place === undefined) return;
    const bottom = Math.round(place.bottom * units);
    const band = (place.bottom - place.top) * units;
    const last = Math.min(Math.ceil((end - from) / width), coverage.length);
    const drawFrom = Math.max(this.picture.start, start);
    const drawUntil = Math.min(this.picture.end, end);
    for (let i = Math.max(Math.floor((start - from) / width), 0); i < last; i++) {
      if (coverage[i] === 0) continue;
      const height = Math.max(coverage[i] / 255, LEAST_HEIGHT) * band;
      const x0 = (Math.max(from + i * width, drawFrom) - start) * scale;
      const x1 = (Math.min(from + (i + 1) * width, drawUntil) - start) * scale;
      const y = bottom - Math.max(1, Math.round(height));
      this.raster.fill(x0, x1, y, bottom, this.ink(color[i], 1));
      this.drawn++;
    }
  }

  paintEvents(start, end, scale, units) {
    const { left, right, color, name } = this.picture.events;
    for (const [row, own] of this.rows) {
      const place = this.place(row);
      if (place === undefined) continue;
      const top = Math.round(place.top * units);
      const bottom = Math.round(place.bottom * units);
      for (const i of own) {
        if (right[i] < start || left[i] > end) continue;
        const x0 = (Math.max(left[i], start) - start) * scale;
        const x1 = (Math.min(right[i], end) - start) * scale;
        this.raster.fill(x0, x1, top, bottom, this.ink(color[i], 1, name[i]));
        // Kernels that follow each other without a gap are still several.
        const begins = left[i] > start && x1 - x0 >= APART_PX;
        if (begins) this.raster.fill(x0, x0 + 1, top, bottom, this.ink(color[i], DARKER, name[i]));
        this.drawn++;
      }
    }
  }

  // What of the picture lies at `at` seconds of `row`, or nearest to it within `slack`; null where
  // nothing does, undefined where the picture does not reach.
  at(row, at, slack) {
    const { picture } = this;
    if (picture === null || at < picture.start || at > picture.end) return undefined;
    // What is told is what is painted: at the first view its own bars.
    if (!this.covers && this.enough) return undefined;
    if (this.place(row) === undefined) return null;
    if (picture.strips.length > 0) return this.bucketAt(row, at, slack);
    return this.eventAt(row, at, slack);
  }

  bucketAt(row, at, slack) {
    const strip = this.picture.strips.find((one) => one.row === row);
    if (strip === undefined) return null;
    const middle = Math.floor((at - strip.start) / strip.width);
    const reach = Math.min(Math.ceil(slack / strip.width), 64);
    for (let away = 0; away <= reach; away++) {
      for (const i of [middle - away, middle + away]) {
        if (!(strip.coverage[i] > 0)) continue;
        const left = strip.start + i * strip.width;
        return {
          left,
          right: left + strip.width,
          color: strip.color[i],
          count: strip.count[i],
          busy_s: (strip.coverage[i] / 255) * strip.width,
        };
      }
    }
    return null;
  }

  // Of events that lie over each other the one on top; of those beside the pointer the nearest.
  eventAt(row, at, slack) {
    const { left, right, name, color } = this.picture.events;
    let best = -1;
    let miss = slack;
    for (const i of this.rows.get(row) ?? []) {
      if (left[i] > at + slack) break;
      const away = Math.max(left[i] - at, at - right[i], 0);
      if (away > miss) continue;
      best = i;
      miss = away;
    }
    if (best < 0) return null;
    return {
      left: left[best],
      right: right[best],
      name: name[best],
      color: color[best],
      count: 1,
      busy_s: right[best] - left[best],
      name_share: 1,
    };
  }

  remove() {
    this.gone = true;
    clearTimeout(this.resting);
    clearTimeout(this.patience);
  }
}

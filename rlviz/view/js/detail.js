// Detail of the window that a chart shows, from whoever has it: the kernel, or the page itself.
// Exact ranges, and pictures of the activity in place of the first view's bars.

import { paintBars } from "./bars.js";
import { paintsAlone } from "./canvas.js";
import { Explainer, GIVE_UP_MS } from "./explain.js";
import { Painter, unpack, unpackPlaces } from "./picture.js";

const PATIENCE_MS = 2000;
const WAITS = "The chart waits for the kernel: until it answers, detail is missing.";
// The first of several moves is answered at once, the next ones are not asked for one by one.
const CALM_MS = 150;
export const DEBOUNCE_MS = 30;
// Asked for on either side, in widths of the window: a small move shows nothing new.
const MARGIN = 0.25;
const WIDEST_PX = 20000;
// Buckets and merged ranges wider than this are asked for anew.
export const COARSE_PX = 2.05;

// What to ask for, that a lens may show its window and a little more.
export function around({ window: [start, end], facts, pixels }) {
  const [first, last] = facts.limits;
  const margin = (end - start) * MARGIN;
  const from = Math.max(start - margin, first);
  const until = Math.min(end + margin, last);
  // Buckets of one to two pixels: narrower ones would share a pixel and show the busiest only.
  const width = Math.max(1, Math.round((pixels * (until - from)) / (end - start) / 2));
  return { start: from, end: until, width: Math.min(width, WIDEST_PX) };
}

// Whether a picture reaches over all that there is of a lens's window.
export function covers(picture, { window: [start, end], facts }) {
  const [first, last] = facts.limits;
  return picture !== null && picture.start <= Math.max(start, first) && picture.end >= Math.min(end, last);
}

export class Detail {
  // `bars` is Bokeh's view of the bars of the first view: detail is painted in their place.
  constructor(lens, bars) {
    this.lens = lens;
    this.bars = bars;
    this.painter = new Painter(lens);
    this.explainer = new Explainer();
    this.picture = null;
    // Buckets of the whole run that came with the chart: finer than its bars.
    this.held = null;
    this.shown = null;
    // Tests look at it.
    this.asked = 0;
    this.lastMove = -Infinity;
    const { left, right, count } = lens.marks.bars;
    // Bars that are events themselves have no more detail.
    this.coarsest = left.reduce(
      (most, start, i) => (count[i] > 1 ? Math.max(most, right[i] - start) : most), 0,
    );
    this.paintInPlaceOfBars();
  }

  // `source.detail` takes what `wish` gives and promises a picture, `source.bucket` takes row, start
  // and width of a bucket and promises what it stands for; `source.places` takes what is searched for
  // and promises columns of its places; `source.kernels` and `source.busy` take
  // start, end and rows (null for all) and promise what these sum up to.
  connect(source) {
    this.source = source;
    this.explainer.source = source;
    this.moved();
    this.lens.controls.seek();
  }

  connectKernel(request) {
    const { alignment } = this.lens;
    const ask = (kind, asked) => request({ kind, ...asked, iteration: alignment.number });
    this.connect({
      detail: async (wish) => unpack(...(await ask("detail", wish))),
      bucket: async (bucket) => (await ask("bucket", bucket))[0],
      places: async ({ search }) => unpackPlaces(...(await ask("places", { search }))),
      kernels: async (span) => (await ask("kernels", span))[0],
      busy: async (span) => (await ask("busy", span))[0],
    });
  }

  hold(picture) {
    this.levels = picture;
    this.held = this.lens.alignment.moved(picture);
    this.lens.repaintBars();
  }

  // All that is known is of another alignment of the runs.
  forget() {
    this.asked++;
    this.settled("");
    this.explainer.forget();
    [this.picture, this.answered] = [null, undefined];
    if (this.levels) this.held = this.lens.alignment.moved(this.levels);
    this.show();
  }

  // When the window is another one, and when other rows, colours or names are wanted.
  moved() {
    this.show();
    const now = performance.now();
    const calm = now - this.lastMove > CALM_MS;
    this.lastMove = now;
    if (this.source === undefined || this.resting !== undefined || !this.wanting()) return;
    if (calm) {
      this.request();
      return;
    }
    // Not put off by the next move: a wheel that turns on would never see detail.
    this.resting = setTimeout(() => {
      this.resting = undefined;
      this.request();
    }, DEBOUNCE_MS);
  }

  // What else than the window decides what is asked for.
  get choice() {
    const { choices, search } = this.lens.controls;
    const { hiddenRows } = this.lens.marks;
    const rows = this.lens.facts.rows.map(({ row }) => row).filter((row) => !hiddenRows.has(row));
    return {
      color_by: choices.color_by,
      search: search.wanted,
      rows: hiddenRows.size === 0 ? null : rows,
    };
  }

  // Whether a picture can be painted in the chosen colours; of hidden rows nothing is painted.
  fits(picture) {
    if (picture === null) return false;
    const { color_by: by, search, rows } = this.choice;
    const all = picture.rows === null || (rows !== null && rows.every((row) => picture.rows.includes(row)));
    if (!all) return false;
    return picture.strips.length === 0 || (picture.color_by === by && picture.search === search);
  }

  // Whether what is drawn is coarser than the window's pixels.
  wanting() {
    const [start, end] = this.lens.window;
    const pixel = (end - start) / this.lens.pixels;
    if (!(pixel > 0)) return false;
    if (!this.covers) return !this.enough;
    // Where no more can be had, the same is not asked for again.
    if (this.state === this.answered) return false;
    if (!this.fits(this.picture)) return true;
    const { strips, merged } = this.picture;
    return merged > pixel * COARSE_PX || strips.some(({ width }) => width > pixel * COARSE_PX);
  }

  get state() {
    return JSON.stringify([this.lens.window, this.choice]);
  }

  // Whether the marks of the first view are as fine as the window's pixels. A search tells only of
  // the name that takes most of a bar.
  get enough() {
    if (this.coarsest > 0 && this.lens.controls.search.active) return false;
    const [start, end] = this.lens.window;
    if (!this.lens.alignment.shows(start, end)) return false;
    const pixel = (end - start) / this.lens.pixels;
    return this.coarsest <= pixel * COARSE_PX && !this.lens.marks.coarse(pixel);
  }

  get covers() {
    return covers(this.picture, this.lens);
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
    const { state } = this;
    try {
      const picture = await this.source.detail(this.wish());
      if (turn !== this.asked || this.gone) return;
      this.settled("");
      this.answered = state;
      this.use(picture);
    } catch (error) {
      if (turn !== this.asked || this.gone) return;
      this.settled(`No more detail: ${error.message}`);
      return;
    }
    if (this.again || this.wanting()) this.moved();
  }

  wish() {
    return { ...around(this.lens), ...this.choice };
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
    this.shown = null;
    this.show();
    this.lens.repaintBars();
  }

  // Ranges of the picture while it covers the window, else those of the first view.
  show() {
    const shown = this.covers ? this.picture : null;
    if (shown === this.shown) return;
    this.shown = shown;
    this.lens.marks.replaceRanges(shown?.overlays ?? null);
    this.lens.relabel();
  }

  // What is painted, by time: pictures, and null for the first view's bars.
  layers() {
    const [start, end] = this.lens.window;
    const { picture } = this;
    const fits = this.fits(picture);
    if (fits && this.covers) return [{ picture, from: start, until: end }];
    if (this.enough) return [{ picture: null, from: start, until: end }];
    const under = this.fits(this.held) ? this.held : null;
    if (!fits || picture.end <= start || picture.start >= end) {
      return [{ picture: under, from: start, until: end }];
    }
    return [
      { picture: under, from: start, until: picture.start },
      { picture, from: Math.max(picture.start, start), until: Math.min(picture.end, end) },
      { picture: under, from: picture.end, until: end },
    ].filter(({ from, until }) => from < until);
  }

  // The whole renderer: Bokeh would place all bars anew, be they painted or not.
  paintInPlaceOfBars() {
    if (!paintsAlone(this.bars)) return;
    this.bars._paint = (context) => {
      const layers = this.layers();
      for (const layer of layers) {
        if (layer.picture === null) this.clip(context, layer, () => paintBars(context, this.lens));
      }
      const pictures = layers.filter(({ picture }) => picture !== null);
      if (pictures.length > 0) this.painter.paint(context, pictures);
    };
  }

  clip(context, { from, until }, paint) {
    const { left, right, top, bottom } = this.lens.frame;
    const x = Math.max(Math.round(this.x(from)), left);
    const width = Math.min(Math.round(this.x(until)), right) - x;
    if (!(width > 0)) return;
    context.save();
    context.beginPath();
    context.rect(x - 0.5, top - 0.5, width, bottom - top);
    context.clip();
    paint();
    context.restore();
  }

  x(at) {
    const [start, end] = this.lens.window;
    const { left, width } = this.lens.frame;
    return left + ((at - start) / (end - start)) * width;
  }

  // What is painted at `at` seconds of `row`, or nearest to it within `slack`; null where nothing
  // is, undefined where the first view's bars are.
  at(row, at, slack) {
    const layer = this.layers().find(({ from, until }) => from <= at && at <= until);
    if (layer === undefined || layer.picture === null) return undefined;
    const seen = this.painter.at(layer.picture, row, at, slack);
    // A bucket is a sum: what it stands for is known once it was asked for.
    return seen === null || seen.name !== undefined ? seen : this.explainer.explained(seen);
  }

  remove() {
    this.gone = true;
    this.explainer.remove();
    clearTimeout(this.resting);
    clearTimeout(this.patience);
  }
}

// A chart in a notebook's output: drawn, drawn anew where the kernel renews it, and told to the
// kernel when a person has moved it.

import { unzipped } from "./gzip.js";
import { openLens } from "./lens.js";
import { unpackLevels } from "./picture.js";

// The kernel hears of a move once its detail is there: each message it gets has the notebook redraw
// its own marks of a busy kernel.
const SETTLE_MS = 300;
const APART = { position: "absolute", inset: "0 0 auto", visibility: "hidden" };

async function parsed(bytes) {
  return JSON.parse(new TextDecoder().decode(await unzipped(bytes)));
}

export class Chart {
  // `model` is the widget's, `request` asks the kernel and `send` tells it; `root` is where a chart
  // will be.
  constructor(Bokeh, model, root, request, send) {
    Object.assign(this, { Bokeh, model, root, request, send });
    this.turn = 0;
    this.zoomed = () => this.follow();
    model.on("change:_zoom", this.zoomed);
  }

  // Draw a figure, in parts as the kernel sends them, in place of the one that is there, which stays
  // until then.
  async draw([item, facts, levels, buckets]) {
    const turn = ++this.turn;
    const [figure, told, held] = await Promise.all([item, facts, levels].map(parsed));
    const bytes = await unzipped(buckets);
    if (this.superseded(turn)) return;
    const old = this.lens;
    const root = document.createElement("div");
    const { parentElement: el } = this.root;
    if (old === undefined) {
      this.root.replaceWith(root);
      this.root = root;
    } else {
      el.style.position = "relative";
      Object.assign(root.style, APART);
      el.append(root);
    }
    const { lens, ready } = openLens(this.Bokeh, root, figure, told, "auto");
    this.mounting = lens;
    await ready;
    if (this.superseded(turn)) {
      lens.remove();
      root.remove();
      return;
    }
    this.mounting = undefined;
    this.replace(old, lens, root);
    lens.detail.connectKernel((message) => this.request(message));
    // Of several runs in one chart the rows have other numbers than in their own.
    if (told.alignments.length === 0) lens.threads.connectKernel(this.request, this.send);
    if (held !== null) lens.detail.hold(unpackLevels(held, bytes));
  }

  superseded(turn) {
    return this.closed || turn !== this.turn;
  }

  replace(old, lens, root) {
    const { root: before } = this;
    [this.root, this.lens] = [root, lens];
    if (old === undefined) {
      this.follow();
    } else {
      lens.goOnFrom(old);
      lens.threads.goOnFrom(old.threads);
      const focused = before.contains(document.activeElement);
      old.remove();
      before.remove();
      for (const property of Object.keys(APART)) root.style.removeProperty(property);
      if (focused) root.focus({ preventScroll: true });
    }
    lens.link(this.model, this.send);
    this.last = this.place.join();
    lens.listeners.add(() => this.moved());
  }

  // `timeline.zoom()` moves every view: one that is there, and one that comes later.
  follow() {
    const zoom = this.model.get("_zoom");
    if (this.lens === undefined || zoom.length === 0) return;
    if (zoom.length > 3) this.lens.align(zoom[3]);
    this.lens.zoom(zoom[1], zoom[2]);
  }

  // Where the view is, and of runs that are compared, which iteration begins at second 0.
  get place() {
    return [...this.lens.window, this.lens.alignment.number];
  }

  moved() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const [start, end, iteration] = this.place;
      if (this.closed || this.last === this.place.join()) return;
      this.last = this.place.join();
      this.send({ kind: "window", after: this.model.get("_zoom")[0] ?? 0, start, end, iteration });
    }, SETTLE_MS);
  }

  // What a renewed chart could not be is told below the one that stays.
  renew(figure) {
    this.draw(figure).catch((error) => {
      this.lens?.chrome.tell(`The chart could not be renewed: ${error.message}`);
    });
  }

  close() {
    this.closed = true;
    clearTimeout(this.settling);
    this.model.off("change:_zoom", this.zoomed);
    this.mounting?.remove();
    this.lens?.remove();
    this.root.remove();
  }
}

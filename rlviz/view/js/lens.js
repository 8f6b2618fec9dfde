// The lens: one chart, alive. It is given BokehJS, an element, the figure and what the figure
// cannot say of itself, and answers to the pointer, the keys and the theme.

import { Alignment } from "./align.js";
import { paintFast } from "./canvas.js";
import { Chrome } from "./chrome.js";
import { Controls } from "./controls.js";
import { describe, passOver } from "./describe.js";
import { Detail } from "./detail.js";
import { Hover } from "./hover.js";
import { KernelTable } from "./kernels.js";
import { listenKeys } from "./keys.js";
import { Labels } from "./labels.js";
import { linkControls } from "./link.js";
import { Marks } from "./marks.js";
import { Measure } from "./measure.js";
import { goToRemark } from "./remarks.js";
import { Threads } from "./threads.js";
import { ambientTheme, paintRoot, recolour, watchTheme } from "./theme.js";
import { askingOf, Toolbar } from "./toolbar.js";
import { baseText, ticking, tickText } from "./units.js";

const TICK_PX = 96;

// Resolves when `element` has a width: nothing is drawn in a hidden tab or a collapsed output.
function visible(element) {
  if (element.clientWidth > 0) return Promise.resolve();
  return new Promise((resolve) => {
    const observer = new ResizeObserver(() => {
      if (element.clientWidth === 0) return;
      observer.disconnect();
      resolve();
    });
    observer.observe(element);
  });
}

class Lens {
  constructor(root, facts, theme) {
    this.root = root;
    this.facts = facts;
    this.asked = theme;
    this.listeners = new Set();
    this.stopping = [];
    this.scheduled = false;
  }

  async mount(Bokeh, item) {
    const { root, facts } = this;
    root.classList.add("rlviz");
    root.tabIndex = 0;
    // JupyterLab would take A for "insert a cell above" and D D for "delete the cell".
    root.dataset.lmSuppressShortcuts = "true";
    this.chrome = new Chrome(root, facts);
    describe(root, this.chrome, facts);
    paintRoot(root, facts, this.theme);
    await visible(root);
    this.chrome.plot.style.visibility = "hidden";
    this.views = await Bokeh.embed.embed_item(item, this.chrome.plot);
    this.Bokeh = Bokeh;
    this.doc = this.views.roots[0].model.document;
    this.main = this.doc.get_model_by_name("main");
    this.range = this.doc.get_model_by_name("window");
    this.view = this.views.find_one(this.main);
    this.marks = new Marks(this.doc);
    this.labels = new Labels(this.doc, facts, this.marks);
    this.hover = new Hover(facts, this.marks, root);
    const bars = this.main.renderers.find(({ data_source: { name } }) => name === "bars");
    this.bars = this.views.find_one(bars);
    this.controls = new Controls(this);
    paintFast(this);
    this.detail = new Detail(this, this.bars);
    this.hover.detail = this.detail;
    this.detail.explainer.changed = () => this.hover.again();
    this.writeAxes();
    this.chrome.place(this.view.frame.bbox);
    this.alignment = new Alignment(this);
    passOver(this);
    this.measure = new Measure(this);
    this.threads = new Threads(this);
    this.kernels = new KernelTable(this);
    if (this.alignment.now !== null) this.chrome.retell(this.alignment.now);
    this.toolbar = facts.toolbar ? new Toolbar(this, this.chrome.toolbar) : null;
    if (!facts.toolbar) this.chrome.head.append(askingOf(this));
    this.chrome.went = (remark) => goToRemark(remark, this);
    this.listen();
    this.repaint();
    this.moved();
    this.chrome.plot.style.visibility = "";
    root.dataset.rlviz = "painted";
  }

  get theme() {
    return this.asked === "auto" ? ambientTheme() : this.asked;
  }

  get window() {
    return [this.range.start, this.range.end];
  }

  get frame() {
    return this.view.frame.bbox;
  }

  // Of the screen, along the frame.
  get pixels() {
    return this.frame.width * devicePixelRatio;
  }

  writeAxes() {
    for (const name of ["main", "overview"]) {
      const plot = this.doc.get_model_by_name(name);
      if (plot === null) continue;
      // An own formatter by its method: one made from a string of code needs unsafe-eval.
      plot.below[0].formatter.doFormat = (ticks) => {
        const step = ticks.length > 1 ? ticks[1] - ticks[0] : plot.x_range.end - plot.x_range.start;
        const how = ticking(step, plot.x_range.start);
        if (name === "main") this.chrome.base.textContent = baseText(how);
        else how.base = 0;
        return ticks.map((at) => tickText(at, how));
      };
      plot.below[0].change.emit();
    }
  }

  listen() {
    const moved = () => this.schedule();
    this.range.properties.start.change.connect(moved);
    this.range.properties.end.change.connect(moved);
    this.main.properties.inner_width.change.connect(moved);
    this.stopping.push(watchTheme(() => this.repaint()));
    listenKeys(this.root, this);
    const plot = this.chrome.plot;
    plot.addEventListener("pointerdown", () => {
      this.hover.hide();
      this.root.focus({ preventScroll: true });
    });
    plot.addEventListener("pointermove", (event) => this.pointed(event));
    plot.addEventListener("pointerleave", () => this.hover.hide());
    plot.addEventListener("dblclick", () => this.home());
  }

  // Bokeh changes start and end one after the other: one update for both, before it paints.
  schedule() {
    if (this.scheduled) return;
    this.scheduled = true;
    queueMicrotask(() => {
      this.scheduled = false;
      if (!this.gone) this.moved();
    });
  }

  moved() {
    const [start, end] = this.window;
    const { width } = this.frame;
    if (!(width > 0)) return;
    this.hover.hide();
    for (const axis of [this.main.below[0], this.doc.get_model_by_name("overview")?.below[0]]) {
      axis?.ticker.setv({ desired_num_ticks: Math.max(2, Math.round(width / TICK_PX)) });
    }
    this.labels.update(start, end, width);
    this.chrome.resized(width);
    this.detail.moved();
    this.measure.place();
    this.threads.moved();
    this.toolbar?.tellIteration(this.iterationShown()?.[0] ?? null, this.shows(...this.whole));
    for (const listener of this.listeners) listener(start, end);
  }

  // When other ranges are drawn of the same window.
  relabel() {
    const { width } = this.frame;
    if (width > 0) this.labels.update(...this.window, width);
  }

  pointed(event) {
    if (event.buttons !== 0) return;
    const box = this.view.el.getBoundingClientRect();
    const x = event.clientX - box.left;
    const y = event.clientY - box.top;
    const { left, right, top, bottom, width } = this.frame;
    const [start, end] = this.window;
    if (y < top || y > bottom || x > right) return this.hover.hide();
    this.pointer = x < left ? null : (x - left) / width;
    const at = x < left ? NaN : start + (end - start) * this.pointer;
    const units = ((y - top) / (bottom - top)) * this.facts.height;
    this.hover.show(at, units, width / (end - start), event.clientX, event.clientY);
  }

  zoom(start, end) {
    const [first, last] = this.facts.limits;
    const span = Math.min(Math.max(end - start, this.range.min_interval ?? 0), last - first);
    const from = Math.min(Math.max(start, first), last - span);
    this.range.setv({ start: from, end: from + span });
  }

  // What "all iterations" are.
  get whole() {
    return this.alignment.now === null ? this.facts.window : this.facts.limits;
  }

  // Of runs that are compared: have an iteration begin at second 0 in each, and show it.
  align(number) {
    if (this.alignment.at(number)) this.home();
    this.schedule();
  }

  // The first view; `reset` also takes back what a reader has chosen.
  home() {
    this.zoom(...this.facts.window);
  }

  reset() {
    this.controls.reset();
  }

  // In place of another lens of the same run: its window, where a person has moved it, and what was
  // chosen. Codes of names are a figure's own.
  goOnFrom(other) {
    if (!other.shows(...other.facts.window)) this.zoom(...other.window);
    const shown = new Set(other.controls.choices.domains.map((code) => other.facts.names[code]));
    const known = new Set(other.facts.domains.map(({ code }) => other.facts.names[code]));
    const domains = this.facts.domains
      .filter(({ code, shown: first }) => {
        const name = this.facts.names[code];
        return known.has(name) ? shown.has(name) : first;
      })
      .map(({ code }) => code);
    this.controls.choose({ ...other.controls.choices, domains });
  }

  // Zoom about the pointer, as the wheel does; about the middle where it is elsewhere.
  zoomBy(factor) {
    const [start, end] = this.window;
    const about = start + (end - start) * (this.pointer ?? 0.5);
    this.zoom(about - (about - start) * factor, about + (end - about) * factor);
  }

  moveBy(share) {
    const [start, end] = this.window;
    const by = (end - start) * share;
    this.zoom(start + by, end + by);
  }

  // The iteration that the window shows, and no other.
  iterationShown() {
    if (this.alignment.now !== null && this.shows(...this.facts.window)) return this.facts.iterations[0];
    return this.facts.iterations.find(([, from, until]) => this.shows(from, until));
  }

  shows(from, until) {
    const [start, end] = this.window;
    const slack = (end - start) * 1e-6;
    return Math.abs(from - start) <= slack && Math.abs(until - end) <= slack;
  }

  showIteration(number) {
    if (this.alignment.now !== null) return this.align(number);
    const found = this.facts.iterations.find(([known]) => known === number);
    if (found !== undefined) this.zoom(found[1], found[2]);
  }

  stepIteration(by) {
    if (this.alignment.now !== null) return this.stepAlignment(by);
    const { iterations } = this.facts;
    if (iterations.length === 0) return;
    const shown = iterations.indexOf(this.iterationShown());
    const middle = (this.window[0] + this.window[1]) / 2;
    const inside = iterations.findIndex(([, from, until]) => from <= middle && middle < until);
    const next = shown >= 0 ? shown + by : inside >= 0 ? inside : by > 0 ? 0 : iterations.length - 1;
    const [, from, until] = iterations[Math.min(Math.max(next, 0), iterations.length - 1)];
    this.zoom(from, until);
  }

  stepAlignment(by) {
    const { number, numbers } = this.alignment;
    const next = numbers.indexOf(number) + (this.iterationShown() === undefined ? 0 : by);
    this.align(numbers[Math.min(Math.max(next, 0), numbers.length - 1)]);
  }

  // Obey the controls of a notebook: `model` is the widget's, `send` writes to the kernel.
  link(model, send) {
    linkControls(this, model, send);
  }

  repaintBars() {
    if (typeof this.bars.request_paint === "function") this.bars.request_paint();
    else this.bars.model.data_source.change.emit();
  }

  setTheme(theme) {
    this.asked = theme;
    this.repaint();
  }

  repaint() {
    recolour(this.doc, this.facts, this.theme, this.root);
    this.controls.paint();
    paintRoot(this.hover.box, this.facts, this.theme);
  }

  remove() {
    this.gone = true;
    for (const stop of this.stopping) stop();
    this.hover?.remove();
    this.detail?.remove();
    this.listeners.clear();
    if (this.views === undefined) return;
    const { documents } = this.Bokeh;
    this.views.clear();
    this.doc.clear();
    const place = documents.indexOf(this.doc);
    if (place >= 0) documents.splice(place, 1);
  }
}

// Put a chart into `root`. `theme` is "light", "dark" or "auto".
export function openLens(Bokeh, root, item, facts, theme = "auto") {
  const lens = new Lens(root, facts, theme);
  root.rlviz = lens;
  return { lens, ready: lens.mount(Bokeh, item) };
}

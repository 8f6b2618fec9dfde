// Rows that expand into the lanes of their threads. Each has a small button beside its label; what
// it opens stands in room that is made below the row.

import { button, element } from "./element.js";
import { line } from "./hover.js";
import { around, COARSE_PX, covers, DEBOUNCE_MS } from "./detail.js";
import { LanePainter, unpackLanes } from "./lanes.js";
import { laidBelow } from "./lanerows.js";
import { Room } from "./room.js";
import { clock, duration, grouped } from "./units.js";

const READING = "Its reports are being read.";
const MOST_EVENTS_COUNTED = 255;
// Beside the name of the pool.
const BUTTON_LEFT_PX = 25;
const CLOSED = "▸";
const OPEN = "▾";

export class Threads {
  constructor(lens) {
    this.lens = lens;
    // What is told of each row that is open; null until that is known.
    this.open = new Map();
    this.buttons = new Map();
    this.wanted = new Set();
    this.picture = null;
    this.turn = 0;
    this.painter = new LanePainter(lens);
    this.box = element("div", "threads");
    this.box.setAttribute("role", "group");
    this.box.setAttribute("aria-label", "rows that expand into their threads");
    lens.chrome.plot.before(this.box);
    lens.hover.threads = this;
    this.box.addEventListener("keydown", (event) => this.step(event));
  }

  connectKernel(request, send) {
    this.send = send;
    this.connect({
      rows: null,
      threads: async (row, progress) => (await request({ kind: "threads", row }, progress))[0].told,
      lanes: async (wish) => unpackLanes(...(await request({ kind: "lanes", ...wish }))),
    });
  }

  // `source.threads` promises what is told of a row, `source.lanes` what to draw of the lanes of
  // rows; `source.rows` are those that it knows of, null for all.
  connect(source) {
    const { lens } = this;
    this.source = source;
    // Another version of Bokeh may paint in a way that leaves no place for lanes.
    if (typeof lens.bars._paint !== "function") return;
    this.room ??= new Room(lens, () => this.placed());
    this.paintAbove();
    const rows = lens.facts.rows.filter(({ row }) => source.rows === null || source.rows.includes(row));
    for (const { row, label } of rows) this.addButton(row, label);
    this.placed();
    for (const { row, label } of rows) if (this.wanted.delete(label)) this.toggle(row);
  }

  // The rows that another lens of the same run had open.
  goOnFrom({ lens, open }) {
    for (const row of open.keys()) {
      this.wanted.add(lens.facts.rows.find((one) => one.row === row).label);
    }
  }

  addButton(row, label) {
    const made = button(CLOSED, "", () => this.toggle(row));
    made.className = "rlviz-expand";
    made.setAttribute("aria-label", `threads of ${label}`);
    made.title = "expand into threads: NVTX ranges, CUDA calls, launch-bound time";
    made.setAttribute("aria-expanded", "false");
    // One stop for the Tab key; arrows go from row to row.
    made.tabIndex = this.buttons.size === 0 ? 0 : -1;
    const told = element("div", "hidden");
    this.buttons.set(row, { button: made, told });
    this.box.append(made, told);
  }

  step(event) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (by === undefined) return;
    const all = [...this.buttons.values()].map((one) => one.button);
    const next = all[all.indexOf(document.activeElement) + by];
    event.preventDefault();
    event.stopPropagation();
    if (next === undefined) return;
    for (const one of all) one.tabIndex = one === next ? 0 : -1;
    next.focus();
  }

  async toggle(row) {
    if (this.open.delete(row)) {
      this.changed();
      return;
    }
    this.open.set(row, { note: READING });
    this.changed();
    let told;
    try {
      told = await this.source.threads(row, ({ calls }) => this.reading(row, calls));
    } catch (error) {
      told = { note: `Its threads could not be read: ${error.message}` };
    }
    // Closed meanwhile, or closed and opened again.
    if (this.lens.gone || !this.open.has(row)) return;
    this.open.set(row, told);
    this.changed();
  }

  // It takes a while: tell how far it is.
  reading(row, calls) {
    if (this.lens.gone || !this.open.get(row)?.note?.startsWith(READING)) return;
    this.open.set(row, { note: `${READING} ${grouped(calls)} calls so far.` });
    this.changed();
  }

  // Another row is open, or more is known of one.
  changed() {
    const { lens } = this;
    const { facts } = lens;
    const rooms = new Map();
    const laid = new Map();
    for (const { row } of facts.rows) {
      if (!this.open.has(row)) continue;
      laid.set(row, laidBelow(this.open.get(row), facts));
      rooms.set(row, laid.get(row).height);
    }
    lens.controls.point(null);
    this.room.make(rooms);
    const { lanes, notes, names, strips } = this.stand(laid);
    this.painter.place(lanes, notes, strips);
    for (const told of this.open.values()) if (told.palette) this.painter.use(told);
    this.room.draw(names);
    for (const [row, own] of this.buttons) {
      const told = this.open.get(row);
      own.button.textContent = told === undefined ? CLOSED : OPEN;
      own.button.setAttribute("aria-expanded", String(told !== undefined));
      own.told.textContent = laid.get(row)?.words ?? "";
    }
    this.send?.({ kind: "expanded", rows: [...this.open.keys()] });
    lens.chrome.also(this.legend);
    lens.controls.apply();
    this.placed();
    this.moved();
  }

  // What was laid out from 0 on, each below its row.
  stand(laid) {
    const found = { lanes: [], notes: [], names: [], strips: [] };
    for (const [row, own] of laid) {
      const { bottom } = this.lens.facts.rows.find((one) => one.row === row);
      for (const key of Object.keys(found)) {
        for (const one of own[key]) {
          const { top, bottom: end } = one;
          found[key].push({ ...one, of: row, top: bottom + top, bottom: bottom + end });
        }
      }
    }
    return found;
  }

  get legend() {
    const told = [...this.open.values()].find(({ palette }) => palette);
    if (told === undefined) return [];
    const colors = told.palette.slice(-told.calls.length);
    const calls = told.calls.map((label, i) => ({ kind: "color", color: colors[i], label }));
    return [...calls, { kind: "launch", color: "", label: "launch-bound" }];
  }

  // When the frame may have another place or height.
  placed() {
    const { lens } = this;
    const { frame, facts, chrome } = lens;
    for (const [row, { button: one }] of this.buttons) {
      const { top, bottom } = facts.rows.find((other) => other.row === row);
      const height = Math.min(Math.max((bottom - top) * facts.row_px, 10), 18);
      one.style.left = `${BUTTON_LEFT_PX}px`;
      one.style.top = `${frame.top + ((top + bottom) / 2) * facts.row_px - height / 2}px`;
      one.style.height = `${height}px`;
    }
    if (this.room === undefined || frame.height === this.high) return;
    this.high = frame.height;
    for (const old of chrome.plot.querySelectorAll(".rlviz-pool")) old.remove();
    chrome.place(frame);
    lens.controls.apply();
    lens.measure.place();
  }

  paintAbove() {
    const { bars } = this.lens;
    if (this.paints) return;
    this.paints = true;
    const paint = bars._paint;
    bars._paint = (context, ...more) => {
      paint.call(bars, context, ...more);
      this.painter.paint(context, this.picture);
    };
  }

  get rows() {
    return [...this.open].filter(([, told]) => told.threads).map(([row]) => row);
  }

  // When the window is another one, or other rows are open.
  moved() {
    if (this.rows.length === 0) this.picture = null;
    if (this.rows.length === 0 || this.resting !== undefined || !this.wanting) return;
    this.resting = setTimeout(() => {
      this.resting = undefined;
      this.request();
    }, DEBOUNCE_MS);
  }

  get wanting() {
    const { picture, lens } = this;
    if (picture === null || picture.rows !== this.rows.join()) return true;
    if (!covers(picture, lens)) return true;
    const [start, end] = lens.window;
    const pixel = (end - start) / lens.pixels;
    return picture.many.strips.some(({ width }) => width > pixel * COARSE_PX);
  }

  // One request at a time; the newest window is asked for when it is answered.
  async request() {
    if (this.lens.gone || this.asking || this.rows.length === 0) return;
    const { lens, rows } = this;
    const state = JSON.stringify([...lens.window, rows]);
    if (state === this.answered) return;
    this.asking = true;
    try {
      const picture = await this.source.lanes({ rows, ...around(lens) });
      this.answered = state;
      if (lens.gone) return;
      this.picture = { ...picture, rows: rows.join() };
      lens.repaintBars();
    } catch (error) {
      this.answered = state;
      lens.chrome.tell(`No lanes of threads: ${error.message}`);
    } finally {
      this.asking = false;
    }
    this.moved();
  }

  // What lies at a place that is in no row.
  tell(box, at, y, slack) {
    const inside = ({ top, bottom }) => top <= y && y <= bottom;
    if (Number.isNaN(at)) return;
    this.tellStretch(box, this.painter.strips.find(inside), at, slack);
    const lane = this.painter.lanes.find(inside);
    if (lane === undefined || this.picture === null) return;
    const seen = this.painter.at(this.picture, lane, at, slack);
    if (seen === null) return;
    if (seen.text !== undefined) {
      line(box, "name", seen.text);
      line(box, "time", duration(seen.right - seen.left), `at ${clock(seen.left, seen.right - seen.left)}`);
    } else {
      const many = seen.count >= MOST_EVENTS_COUNTED ? `${seen.count} or more` : grouped(seen.count);
      line(box, "name", `${many} ${lane.kind} in this bar of ${duration(seen.width)}`);
      line(box, "more", seen.says === "" ? "" : `mostly ${seen.says}`);
    }
    line(box, "row", `thread ${lane.thread}`, lane.kind === "calls" ? "CUDA calls" : "NVTX ranges");
  }

  tellStretch(box, strip, at, slack) {
    const found = strip?.stretches.find(([left, right]) => left - slack <= at && at <= right + slack);
    if (found === undefined) return;
    const [left, right, waits, wait] = found;
    line(box, "name", `launch-bound for ${duration(right - left)}`);
    line(box, "more", `${grouped(waits)} times idle until a launch came, ${duration(wait)} in all`);
  }
}

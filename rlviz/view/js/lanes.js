// Lanes of threads, as they are painted: buckets and events, labels on what is wide enough.

import { placing } from "./canvas.js";
import { rgba } from "./raster.js";
import { Painter, stripsOf } from "./picture.js";
import { mixed } from "./colors.js";

// Of a range's colour, so that its label can be read on it.
const TINT = 0.55;
const EDGE = 0.65;
const LEAST_TEXT_PX = 26;
const TEXT_AIR_PX = 3;
const HATCH_PX = 5;

// What was answered about lanes, by whoever has them.
export function unpackLanes(facts, [coverage, color, count, left, right, lane, name, eventColor]) {
  const none = { strips: [], events: { left: [], right: [], row: [], name: [], color: [], kind: [] } };
  const events = {
    left: new Float64Array(left.buffer),
    right: new Float64Array(right.buffer),
    row: new Int32Array(lane.buffer),
    name: new Int32Array(name.buffer),
    color: eventColor,
    kind: eventColor,
  };
  return {
    start: facts.start,
    end: facts.end,
    names: facts.names,
    many: { ...none, strips: stripsOf(facts, coverage, color, count) },
    few: { ...none, events },
  };
}

export class LanePainter {
  constructor(lens) {
    this.lens = lens;
    this.place([], [], []);
    const self = this;
    this.painter = new Painter({
      marks: { hiddenRows: new Set() },
      controls: { get coloring() { return self.coloring; } },
      get facts() { return { rows: self.lanes, height: lens.facts.height }; },
      get frame() { return lens.frame; },
      get window() { return lens.window; },
    });
  }

  // Lanes, each with its number as `row`, and `top` and `bottom`.
  place(lanes, notes, strips) {
    Object.assign(this, { lanes, notes, strips });
    if (this.painter !== undefined) this.painter.places = undefined;
  }

  // `palette` is by colour, `calls` what the last of them are called.
  use({ palette, calls }) {
    this.palette = palette;
    this.calls = calls;
  }

  get coloring() {
    const { facts, theme } = this.lens;
    if (this.painted?.theme !== theme) {
      const { page } = facts.surface[theme];
      const first = this.palette.length - this.calls.length;
      const fills = this.palette.map((color, i) => (i < first ? mixed(color, page, TINT) : color));
      this.painted = {
        theme,
        inks: Uint32Array.from(fills, (css) => rgba(css, 1)),
        darker: Uint32Array.from(fills, (css) => rgba(css, EDGE)),
        dim: 0,
        code: (name, color) => color,
        says: (mode, color) => this.calls[color - first] ?? "",
      };
    }
    return this.painted;
  }

  paint(context, picture) {
    if (this.notes.length + this.lanes.length === 0) return;
    this.paintNotes(context);
    this.paintStrips(context);
    if (this.lanes.length === 0 || picture === null) return;
    const [from, until] = this.lens.window;
    this.painter.paint(context, [picture.many, picture.few].map((one) => ({ picture: one, from, until })));
    this.label(context, picture);
  }

  paintNotes(context) {
    const { left, top, units } = placing(this.lens);
    this.write(context, "muted");
    for (const { top: from, bottom, text } of this.notes) {
      context.fillText(text, left + TEXT_AIR_PX, top + ((from + bottom) / 2) * units);
    }
  }

  // Hatched, so that it is told apart without its colour too.
  paintStrips(context) {
    const { start, end, left, right, scale, top, units } = placing(this.lens);
    const { alert } = this.lens.facts.surface[this.lens.theme];
    context.globalAlpha = 1;
    context.strokeStyle = alert;
    context.fillStyle = alert;
    context.lineWidth = 1;
    this.stretches = 0;
    for (const { top: from, bottom, stretches } of this.strips) {
      const y = Math.round(top + from * units);
      const height = Math.round(top + bottom * units) - y;
      context.save();
      context.beginPath();
      for (const [begins, ends] of stretches) {
        if (ends < start || begins > end) continue;
        const x = Math.round(Math.max(left + (begins - start) * scale, left));
        const width = Math.max(Math.round(Math.min(left + (ends - start) * scale, right)) - x, 2);
        context.rect(x, y, width, height);
        context.fillRect(x, y, width, 2);
        this.stretches++;
      }
      context.clip();
      context.beginPath();
      for (let x = left - height; x < right; x += HATCH_PX) {
        context.moveTo(x, y + height);
        context.lineTo(x + height, y);
      }
      context.stroke();
      context.restore();
    }
  }

  write(context, ink) {
    const { facts, theme, labels } = this.lens;
    context.font = labels.small.context.font;
    context.textBaseline = "middle";
    context.textAlign = "left";
    context.globalAlpha = 1;
    context.fillStyle = facts.surface[theme][ink];
  }

  label(context, { few, names }) {
    const { start, end, left, right, scale, top, units } = placing(this.lens);
    const { small } = this.lens.labels;
    const { left: starts, right: ends, row, name } = few.events;
    this.write(context, "ink");
    this.labels = [];
    for (let i = 0; i < starts.length; i++) {
      if (ends[i] < start || starts[i] > end) continue;
      const lane = this.painter.place(row[i]);
      if (lane?.kind !== "ranges") continue;
      const x = left + (Math.max(starts[i], start) - start) * scale;
      const room = Math.min(left + (ends[i] - start) * scale, right) - x - 2 * TEXT_AIR_PX;
      if (room < LEAST_TEXT_PX) continue;
      const full = names[name[i]];
      const text = small.fit([full, full.slice(full.lastIndexOf("/") + 1) || full], room);
      if (text === "") continue;
      this.labels.push(text);
      context.fillText(text, x + TEXT_AIR_PX, top + ((lane.top + lane.bottom) / 2) * units);
    }
  }

  // What of a picture lies at a place.
  at({ many, few, names }, lane, at, slack) {
    const event = this.painter.eventAt(few, lane.row, at, slack);
    if (event !== null) return { ...event, text: names[event.name] };
    const bucket = this.painter.bucketAt(many, lane.row, at, slack);
    return bucket === null ? null : { ...bucket, count: bucket.matches };
  }
}

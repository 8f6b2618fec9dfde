// A picture of a window: buckets while events are many, the events themselves below that. Painted
// as pixels, and asked what lies at a point.

import { byRow } from "./marks.js";
import { Raster } from "./raster.js";

// As for the bars of the first view: what is there at all stays visible.
const LEAST_HEIGHT = 0.04;
// Events this wide have an edge of their own.
const APART_PX = 4;
const MOST_BESIDE = 64;

export const OVERLAY_COLUMNS = [
  "left", "right", "top", "bottom", "row", "name", "domain", "thread", "color", "depth", "count",
  "truncated", "parent_share", "shown",
];

function cut(values, lengths) {
  let from = 0;
  return lengths.map((length) => values.subarray(from, (from += length)));
}

export function stripsOf(facts, coverage, color, match) {
  const lengths = facts.strips.map(([, , , length]) => length);
  const [coverages, colors, matches] = [coverage, color, match].map((one) => cut(one, lengths));
  return facts.strips.map(([row, start, width], i) => ({
    row, start, width, coverage: coverages[i], color: colors[i],
    match: match.length > 0 ? matches[i] : null,
  }));
}

// Columns of `length` numbers, as `rlviz.view.coded` packs them.
function decoded(keys, length, values, buffer) {
  let at = 0;
  const take = (type, size) => {
    const found = new type(buffer, at, size);
    at += found.byteLength;
    return found;
  };
  const columns = values.map((size) => take(Float64Array, size || length));
  for (const [type, least, most] of [[Uint16Array, 257, Infinity], [Uint8Array, 1, 256]]) {
    values.forEach((size, i) => {
      if (size < least || size > most) return;
      const known = columns[i];
      columns[i] = Float64Array.from(take(type, length), (place) => known[place]);
    });
  }
  return Object.fromEntries(keys.map((key, i) => [key, columns[i]]));
}

// What the kernel answered, as columns: `facts` and bytes as `rlviz.view.detail` gives them.
export function unpack(facts, columns) {
  const [coverage, color, match, left, right, row, name, eventColor, kind, ranges] = columns;
  return {
    ...facts,
    strips: stripsOf(facts, coverage, color, match),
    events: {
      left: new Float64Array(left.buffer),
      right: new Float64Array(right.buffer),
      row: new Int32Array(row.buffer),
      name: new Int32Array(name.buffer),
      color: eventColor,
      kind,
    },
    overlays: decoded(OVERLAY_COLUMNS, ...facts.ranges, ranges.buffer),
  };
}

export function unpackPlaces({ places }, [packed]) {
  return decoded(["left", "right", "top", "bottom", "row", "domain", "shown"], ...places, packed.buffer);
}

// A picture of buckets alone, as it comes with the chart.
export function unpackLevels(facts, bytes) {
  const half = bytes.length / 2;
  const none = new Uint8Array(0);
  const strips = stripsOf(facts, bytes.subarray(0, half), bytes.subarray(half), none);
  const events = { left: none, right: none, row: none, name: none, color: none, kind: none };
  return { ...facts, strips, events };
}

export class Painter {
  constructor(lens) {
    this.lens = lens;
    this.raster = new Raster();
    this.rows = new WeakMap();
    // Buckets and events of the last painting: a test looks at it.
    this.drawn = 0;
  }

  // Where a row stands; nowhere while it is hidden.
  place(number) {
    const { marks, facts } = this.lens;
    if (marks.hiddenRows.has(number)) return undefined;
    this.places ??= new Map(facts.rows.map((one) => [one.row, one]));
    return this.places.get(number);
  }

  eventsOf(picture) {
    let found = this.rows.get(picture);
    if (found === undefined) this.rows.set(picture, (found = byRow(picture.events.row)));
    return found;
  }

  // Paint `layers`, pictures and the part of the window that each is for.
  paint(context, layers) {
    const { left, top, bottom, width } = this.lens.frame;
    const [start, end] = this.lens.window;
    const ratio = devicePixelRatio;
    const { raster } = this;
    raster.begin(Math.round(width * ratio), Math.round((bottom - top) * ratio));
    const scale = (width * ratio) / (end - start);
    const units = ((bottom - top) * ratio) / this.lens.facts.height;
    this.drawn = 0;
    for (const { picture, from, until } of layers) {
      const part = { start, from: Math.max(from, start), until: Math.min(until, end), scale, units };
      for (const strip of picture.strips) this.paintStrip(strip, part);
      if (picture.strips.length === 0) this.paintEvents(picture, part);
    }
    raster.draw(context, left, top, width, bottom - top);
  }

  paintStrip(strip, { start, from, until, scale, units }) {
    const place = this.place(strip.row);
    if (place === undefined) return;
    const { width, coverage, color, match } = strip;
    const { inks, dim } = this.lens.controls.coloring;
    const band = (place.bottom - place.top) * units;
    const heights = this.heightsOf(band);
    const first = Math.max(Math.floor((from - strip.start) / width), 0);
    const last = Math.min(Math.ceil((until - strip.start) / width), coverage.length);
    const low = (from - start) * scale;
    const high = (until - start) * scale;
    const step = width * scale;
    const zero = (strip.start - start) * scale;
    const { raster } = this;
    raster.beginLine();
    for (let i = first; i < last; i++) {
      const busy = coverage[i];
      if (busy === 0) continue;
      const x0 = Math.max(zero + i * step, low);
      const x1 = Math.min(zero + (i + 1) * step, high);
      const dimmed = match !== null && match[i] === 0;
      raster.bar(x0, x1, heights[busy], inks[dimmed ? color[i] + dim : color[i]]);
      this.drawn++;
    }
    raster.endLine(Math.round(place.bottom * units));
  }

  // Heights in pixels by coverage.
  heightsOf(band) {
    if (this.heights?.band !== band) {
      const px = (_, busy) => Math.max(1, Math.round(Math.max(busy / 255, LEAST_HEIGHT) * band));
      this.heights = { band, px: Int16Array.from({ length: 256 }, px) };
    }
    return this.heights.px;
  }

  paintEvents(picture, { start, from, until, scale, units }) {
    const { left, right, color, kind, name } = picture.events;
    const { coloring } = this.lens.controls;
    for (const [row, own] of this.eventsOf(picture)) {
      const place = this.place(row);
      if (place === undefined) continue;
      const top = Math.round(place.top * units);
      const bottom = Math.round(place.bottom * units);
      for (const i of own) {
        if (right[i] < from || left[i] > until) continue;
        const x0 = (Math.max(left[i], from) - start) * scale;
        const x1 = (Math.min(right[i], until) - start) * scale;
        const code = coloring.code(name[i], color[i], kind[i]);
        this.raster.fill(x0, x1, top, bottom, coloring.inks[code]);
        // Kernels that follow each other without a gap are still several.
        const begins = left[i] > start && x1 - x0 >= APART_PX;
        if (begins) this.raster.fill(x0, x0 + 1, top, bottom, coloring.darker[code]);
        this.drawn++;
      }
    }
  }

  // What of a picture lies at `at` seconds of `row`, or nearest to it within `slack`; null where
  // nothing does.
  at(picture, row, at, slack) {
    if (this.place(row) === undefined) return null;
    if (picture.strips.length > 0) return this.bucketAt(picture, row, at, slack);
    return this.eventAt(picture, row, at, slack);
  }

  bucketAt(picture, row, at, slack) {
    const strip = picture.strips.find((one) => one.row === row);
    if (strip === undefined) return null;
    const middle = Math.floor((at - strip.start) / strip.width);
    const reach = Math.min(Math.ceil(slack / strip.width), MOST_BESIDE);
    for (let away = 0; away <= reach; away++) {
      for (const i of [middle - away, middle + away]) {
        if (!(strip.coverage[i] > 0)) continue;
        const left = strip.start + i * strip.width;
        return {
          left,
          right: left + strip.width,
          width: strip.width,
          row,
          says: this.lens.controls.coloring.says(picture.color_by, strip.color[i]),
          busy_share: strip.coverage[i] / 255,
          matches: strip.match === null ? null : strip.match[i],
        };
      }
    }
    return null;
  }

  // Of events that lie over each other the one on top; of those beside the pointer the nearest.
  eventAt(picture, row, at, slack) {
    const { left, right, name, color } = picture.events;
    let best = -1;
    let miss = slack;
    for (const i of this.eventsOf(picture).get(row) ?? []) {
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
}

// Detail from what the page itself holds: all events and ranges, as `rlviz.view.held` packs them.

import { OVERLAY_COLUMNS } from "./detail.js";

const MOST_EVENTS = 10000;
const MOST_RANGES = 2000;
const TIME_BYTES = 6;
const NAME_BYTES = 4;

async function unzip(text) {
  const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

// Reads columns that were written one behind the other, byte plane by byte plane.
class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  whole(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }

  integers(length, size) {
    const found = new Float64Array(length);
    let weight = 1;
    for (let plane = 0; plane < size; plane++, weight *= 256) {
      const own = this.whole(length);
      for (let i = 0; i < length; i++) found[i] += own[i] * weight;
    }
    return found;
  }

  floats(length) {
    const bytes = new Uint8Array(length * 8);
    for (let plane = 0; plane < 8; plane++) {
      const own = this.whole(length);
      for (let i = 0; i < length; i++) bytes[i * 8 + plane] = own[i];
    }
    return new Float64Array(bytes.buffer);
  }
}

function unpackHeld(held, bytes) {
  const reader = new Reader(bytes);
  const tracks = held.rows.map(([row, length]) => ({ row, length }));
  for (const track of tracks) {
    track.start = reader.integers(track.length, TIME_BYTES);
    let at = held.first;
    for (let i = 0; i < track.length; i++) track.start[i] = at += track.start[i];
  }
  for (const track of tracks) {
    track.end = reader.integers(track.length, TIME_BYTES);
    // The latest end so far: what reaches into a window stands behind the first that does.
    track.reach = new Float64Array(track.length);
    let reach = -Infinity;
    for (let i = 0; i < track.length; i++) {
      track.end[i] += track.start[i];
      track.reach[i] = reach = Math.max(reach, track.end[i]);
    }
  }
  for (const track of tracks) track.name = reader.integers(track.length, NAME_BYTES);
  for (const track of tracks) track.color = reader.whole(track.length);
  const ranges = Object.fromEntries(OVERLAY_COLUMNS.map((key) => [key, reader.floats(held.ranges)]));
  return { tracks, ranges };
}

// Where `wanted` would stand in ascending `values`, behind its equals if `behind`.
function search(values, wanted, behind) {
  let low = 0;
  let high = values.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (behind ? values[middle] <= wanted : values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function between(track, start, end) {
  const first = Math.min(search(track.start, start, false), search(track.reach, start, true));
  return [first, Math.max(first, search(track.start, end, false))];
}

function eventsOf(found, start, end) {
  const columns = { left: [], right: [], row: [], name: [], color: [] };
  for (const [track, first, last] of found) {
    for (let i = first; i < last; i++) {
      if (!(track.end[i] > start || track.start[i] >= start)) continue;
      columns.left.push(track.start[i] / 1e9);
      columns.right.push(track.end[i] / 1e9);
      columns.row.push(track.row);
      columns.name.push(track.name[i]);
      columns.color.push(track.color[i]);
    }
  }
  return columns;
}

// Buckets on multiples of their width: busy time exact, the colour with the most time.
function stripOf(track, start, end, width, colors) {
  const first = Math.floor(start / width);
  const size = Math.ceil(end / width) - first;
  const zero = first * width;
  const busy = new Float64Array(size);
  const time = new Float64Array(size * colors);
  const step = new Int32Array(size + 1);
  const [from, until] = between(track, zero, zero + size * width);
  let reach = 0;
  for (let i = from; i < until; i++) {
    const left = Math.max(track.start[i] - zero, 0);
    const right = Math.min(track.end[i] - zero, size * width);
    if (track.end[i] <= zero && track.start[i] < zero) continue;
    const begins = Math.floor(left / width);
    const ends = Math.max(Math.floor((right - 1) / width), begins);
    step[begins]++;
    step[ends + 1]--;
    for (let k = begins; k <= ends; k++) {
      const open = Math.max(left, k * width);
      const close = Math.min(right, (k + 1) * width);
      time[k * colors + track.color[i]] += close - open;
      busy[k] += Math.max(close - Math.max(open, reach), 0);
    }
    reach = Math.max(reach, right);
  }
  return { row: track.row, start: zero / 1e9, width: width / 1e9, ...bytes(busy, time, step, width, colors) };
}

function bytes(busy, time, step, width, colors) {
  const coverage = new Uint8Array(busy.length);
  const color = new Uint8Array(busy.length);
  const count = new Int32Array(busy.length);
  let open = 0;
  for (let k = 0; k < busy.length; k++) {
    count[k] = open += step[k];
    if (open === 0) continue;
    // Rounded up: what is there at all is never 0.
    coverage[k] = Math.max(Math.ceil((busy[k] * 255) / width), 1);
    let most = 0;
    color[k] = colors - 1;
    for (let code = 0; code < colors; code++) {
      if (time[k * colors + code] <= most) continue;
      most = time[k * colors + code];
      color[k] = code;
    }
  }
  return { coverage, color, count };
}

// Ranges that reach into a window; neighbours of one level that are narrower than a pixel as one.
function rangesOf(all, start, end, pixel) {
  const found = Object.fromEntries(OVERLAY_COLUMNS.map((key) => [key, []]));
  const open = new Map();
  let merged = false;
  for (let i = 0; i < all.left.length; i++) {
    const { left, right } = { left: all.left[i], right: all.right[i] };
    if (!(right > start || left >= start) || left >= end) continue;
    const level = `${all.row[i]} ${all.top[i]} ${all.shown[i]}`;
    const sliver = right - left < pixel;
    const last = open.get(level);
    if (sliver && last !== undefined && left - found.right[last] <= pixel) {
      found.right[last] = Math.max(found.right[last], right);
      found.count[last]++;
      found.parent_share[last] = NaN;
      merged = true;
      continue;
    }
    if (sliver) open.set(level, found.left.length);
    else open.delete(level);
    for (const key of OVERLAY_COLUMNS) found[key].push(all[key][i]);
  }
  return { overlays: found, merged: merged ? pixel : 0 };
}

function fewRanges(all, start, end, pixel) {
  for (let wide = pixel; ; wide *= 2) {
    const found = rangesOf(all, start, end, wide);
    if (found.overlays.left.length <= MOST_RANGES || wide > end - start) return found;
  }
}

// Promises a function that answers as a kernel would.
export async function answersOf(held) {
  const { tracks, ranges } = unpackHeld(held, await unzip(held.packed));
  const colors = 1 + tracks.reduce((most, { color }) => color.reduce((a, b) => Math.max(a, b), most), 0);
  return async ({ start, end, width }) => {
    const from = Math.floor(start * 1e9);
    const until = Math.max(Math.ceil(end * 1e9), from + 1);
    const found = tracks.map((track) => [track, ...between(track, from, until)]);
    const few = found.reduce((sum, [, first, last]) => sum + last - first, 0) <= MOST_EVENTS;
    const pixel = Math.max(Math.floor((until - from) / width), 1);
    const bucket = 2 ** Math.floor(Math.log2(pixel));
    return {
      start,
      end,
      names: held.names,
      strips: few ? [] : tracks.map((track) => stripOf(track, from, until, bucket, colors)),
      events: eventsOf(few ? found : [], from, until),
      ...fewRanges(ranges, start, end, pixel / 1e9),
    };
  };
}

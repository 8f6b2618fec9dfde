// Detail from what the page itself holds: all events and ranges, as `rlviz.view.held` packs them.

import { unzippedText } from "./gzip.js";
import { OVERLAY_COLUMNS } from "./picture.js";
import { Reader } from "./planes.js";
import { busyOf, kernelsOf } from "./spansums.js";

const MOST_EVENTS = 10000;
const MOST_RANGES = 2000;
const MOST_PLACES = 20000;
const PLACES_BESIDE = 1500;
const NAME_BYTES = 4;
// The first kinds of work: compute and communication.
const KERNEL_KINDS = 2;

function unpackHeld(held, bytes) {
  const reader = new Reader(bytes);
  const tracks = held.rows.map(([row, length]) => ({ row, length }));
  for (const track of tracks) track.start = reader.starts(track.length, held.first);
  for (const track of tracks) Object.assign(track, reader.ends(track.start));
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

export function between(track, start, end) {
  const first = Math.min(search(track.start, start, false), search(track.reach, start, true));
  return [first, Math.max(first, search(track.start, end, false))];
}

export function eventsOf(found, start, end, kinds) {
  const columns = { left: [], right: [], row: [], name: [], color: [], kind: [] };
  for (const [track, first, last] of found) {
    for (let i = first; i < last; i++) {
      if (!(track.end[i] > start || track.start[i] >= start)) continue;
      columns.left.push(track.start[i] / 1e9);
      columns.right.push(track.end[i] / 1e9);
      columns.row.push(track.row);
      columns.name.push(track.name[i]);
      columns.color.push(track.color[i]);
      columns.kind.push(kinds.get(track.name[i]));
    }
  }
  return columns;
}

// What the colours of a mode are by. A kernel that has no colour of its own counts with the others
// of its kind, and those are painted alike. `none` is of what takes no time.
function facetOf(mode, held, kinds, hues) {
  if (mode === "phase") return { size: hues, none: held.none, of: (track, i) => track.color[i], color: (code) => code };
  if (mode === "kind") {
    return { size: held.kinds.length, none: 0, of: (track, i) => kinds.get(track.name[i]), color: (code) => code };
  }
  const groups = new Map([...kinds].map(([name, kind]) => [name, held.kernels.length + kind]));
  held.kernels.forEach((name, place) => groups.set(name, place));
  return {
    size: held.kernels.length + held.kinds.length,
    none: held.kernels.length,
    of: (track, i) => groups.get(track.name[i]),
    color: (code) => Math.min(code, held.kernels.length),
  };
}

// Buckets on multiples of their width: busy time exact, the facet with the most time.
export function stripOf(track, start, end, width, facet, hit) {
  const first = Math.floor(start / width);
  const size = Math.ceil(end / width) - first;
  const zero = first * width;
  const busy = new Float64Array(size);
  const time = new Float64Array(size * facet.size);
  const step = new Int32Array(size + 1);
  const matches = hit === null ? null : new Int32Array(size + 1);
  const [from, until] = between(track, zero, zero + size * width);
  let reach = 0;
  for (let i = from; i < until; i++) {
    const left = Math.max(track.start[i] - zero, 0);
    const right = Math.min(track.end[i] - zero, size * width);
    if (track.end[i] <= zero && track.start[i] < zero) continue;
    const begins = Math.floor(left / width);
    const ends = Math.max(Math.floor((right - 1) / width), begins);
    const own = facet.of(track, i);
    step[begins]++;
    step[ends + 1]--;
    if (matches !== null && hit(track.name[i])) {
      matches[begins]++;
      matches[ends + 1]--;
    }
    for (let k = begins; k <= ends; k++) {
      const open = Math.max(left, k * width);
      const close = Math.min(right, (k + 1) * width);
      time[k * facet.size + own] += close - open;
      busy[k] += Math.max(close - Math.max(open, reach), 0);
    }
    reach = Math.max(reach, right);
  }
  return {
    row: track.row,
    start: zero / 1e9,
    width: width / 1e9,
    match: matches === null ? null : counted(matches),
    ...bytes(busy, time, step, width, facet),
  };
}

function counted(steps) {
  const found = new Uint8Array(steps.length - 1);
  let open = 0;
  for (let k = 0; k < found.length; k++) found[k] = Math.min((open += steps[k]), 255);
  return found;
}

function bytes(busy, time, step, width, facet) {
  const coverage = new Uint8Array(busy.length);
  const color = new Uint8Array(busy.length);
  let open = 0;
  for (let k = 0; k < busy.length; k++) {
    open += step[k];
    if (open === 0) continue;
    // Rounded up: what is there at all is never 0.
    coverage[k] = Math.max(Math.ceil((busy[k] * 255) / width), 1);
    let most = 0;
    let own = facet.none;
    for (let code = 0; code < facet.size; code++) {
      if (time[k * facet.size + code] <= most) continue;
      most = time[k * facet.size + code];
      own = facet.color(code);
    }
    color[k] = own;
  }
  return { coverage, color };
}

// What one bucket stands for.
function bucketOf(track, start, width) {
  const first = Math.round(start / width) * width;
  const [from, until] = between(track, first, first + width);
  const times = new Map();
  const found = { count: 0, busy: 0, longest: 0 };
  let reach = first;
  let all = 0;
  for (let i = from; i < until; i++) {
    if (track.end[i] <= first && track.start[i] < first) continue;
    const open = Math.max(track.start[i], first);
    const close = Math.min(track.end[i], first + width);
    found.count++;
    found.longest = Math.max(found.longest, (track.end[i] - track.start[i]) / 1e9);
    found.busy += Math.max(close - Math.max(open, reach), 0) / 1e9;
    reach = Math.max(reach, close);
    times.set(track.name[i], (times.get(track.name[i]) ?? 0) + close - open);
    all += close - open;
  }
  if (found.count === 0) throw new Error("there is nothing in this bucket");
  // Of equals the smallest.
  const [name, most] = [...times].reduce((a, b) => (b[1] > a[1] || (b[1] === a[1] && b[0] < a[0]) ? b : a));
  return { ...found, name, share: all > 0 ? most / all : 1 };
}

// The level of each range, as a number: neighbours of one level may be drawn as one.
function levelsOf({ left, row, top, shown }) {
  const known = new Map();
  const level = new Int32Array(left.length);
  for (let i = 0; i < level.length; i++) {
    const key = `${row[i]} ${top[i]} ${shown[i]}`;
    if (!known.has(key)) known.set(key, known.size);
    level[i] = known.get(key);
  }
  return { level, count: known.size };
}

// Merge neighbours of one level that are narrower than a pixel: of each drawn range the number of
// its first, its end, and for how many it stands.
function merge({ left, right }, { level, count }, inside, pixel) {
  const last = new Int32Array(count).fill(-1);
  const found = { first: [], right: [], count: [] };
  for (const i of inside) {
    const sliver = right[i] - left[i] < pixel;
    const open = last[level[i]];
    if (sliver && open >= 0 && left[i] - found.right[open] <= pixel) {
      found.right[open] = Math.max(found.right[open], right[i]);
      found.count[open]++;
      continue;
    }
    last[level[i]] = sliver ? found.first.length : -1;
    found.first.push(i);
    found.right.push(right[i]);
    found.count.push(1);
  }
  return found;
}

// Ranges that reach into a window; slivers of about a pixel as one, of more where they are too many.
function rangesOf(all, levels, start, end, pixel) {
  const { left, right } = all;
  const inside = [];
  for (let i = 0; i < left.length; i++) {
    if (left[i] < end && (right[i] > start || left[i] >= start)) inside.push(i);
  }
  let wide = pixel;
  let found = merge(all, levels, inside, wide);
  while (found.first.length > MOST_RANGES && wide <= end - start) {
    wide *= 2;
    found = merge(all, levels, inside, wide);
  }
  const merged = found.count.map((many) => many > 1);
  const overlays = Object.fromEntries(
    OVERLAY_COLUMNS.map((key) => [key, Float64Array.from(found.first, (i) => all[key][i])]),
  );
  overlays.right = Float64Array.from(found.right);
  overlays.count = Float64Array.from(found.count);
  overlays.parent_share = overlays.parent_share.map((share, i) => (merged[i] ? NaN : share));
  return { overlays, merged: merged.includes(true) ? wide : 0 };
}

// Which names hold a text; null where nothing is searched for.
function hitOf(search, names) {
  if (search === "") return null;
  const found = new Set();
  for (const [code, text] of Object.entries(names)) {
    if (text.toLowerCase().includes(search)) found.add(Number(code));
  }
  return (name) => found.has(name);
}

// Events that were found, by row: what is no further apart is one place.
function joinHits(track, hit, apart, { top, bottom }, found) {
  let last = -1;
  let reach = -Infinity;
  for (let i = 0; i < track.length; i++) {
    if (!hit(track.name[i])) continue;
    const end = Math.max(track.end[i], track.start[i] + 1);
    if (track.start[i] - reach > apart) {
      last = found.left.push(track.start[i] / 1e9) - 1;
      const place = { right: 0, top, bottom, row: track.row, domain: -1, shown: 1 };
      for (const [key, one] of Object.entries(place)) found[key].push(one);
      reach = -Infinity;
    }
    reach = Math.max(reach, end);
    found.right[last] = reach / 1e9;
  }
}

// Where a searched name is, as `rlviz.view.search` finds it.
function placesOf({ tracks, ranges, levels }, hit, rows, span) {
  const named = [];
  ranges.name.forEach((name, i) => hit(name) && named.push(i));
  for (let apart = Math.max(Math.floor(span / PLACES_BESIDE), 1); ; apart *= 2) {
    const { first, right } = merge(ranges, levels, named, apart / 1e9);
    const found = { right };
    for (const key of ["left", "top", "bottom", "row", "domain", "shown"]) {
      found[key] = first.map((i) => ranges[key][i]);
    }
    for (const track of tracks) {
      joinHits(track, hit, apart, rows.find(({ row }) => row === track.row), found);
    }
    if (found.left.length <= MOST_PLACES || apart > span) return found;
  }
}

// Promises the events and ranges of a page.
export async function unpackedOf(held) {
  return unpackHeld(held, await unzippedText(held.packed));
}

// Each row's events and ranges, so many seconds away from where they were packed.
function shifted({ tracks, ranges }, shiftOf) {
  const away = (values, by) => (by === 0 ? values : values.map((at) => at + by));
  const moved = tracks.map((track) => {
    const by = Math.round(shiftOf(track.row) * 1e9);
    const [start, end, reach] = [track.start, track.end, track.reach].map((times) => away(times, by));
    return { ...track, start, end, reach };
  });
  const [left, right] = [ranges.left, ranges.right].map((times) =>
    times.map((at, i) => at + shiftOf(ranges.row[i])),
  );
  return { tracks: moved, ranges: { ...ranges, left, right } };
}

// What answers as a kernel would, with each row `shiftOf` seconds away from where it was packed.
export function answersOf(held, unpacked, shiftOf) {
  const { tracks, ranges } = shifted(unpacked, shiftOf);
  const levels = levelsOf(ranges);
  const hues = 1 + tracks.reduce((most, { color }) => color.reduce((a, b) => Math.max(a, b), most), 0);
  const kinds = new Map(held.kinds.flatMap((names, kind) => names.map((name) => [name, kind])));
  const detail = async ({ start, end, width, color_by: mode, search, rows }) => {
    const from = Math.floor(start * 1e9);
    const until = Math.max(Math.ceil(end * 1e9), from + 1);
    const asked = tracks.filter(({ row }) => rows === null || rows.includes(row));
    const found = asked.map((track) => [track, ...between(track, from, until)]);
    const few = found.reduce((sum, [, first, last]) => sum + last - first, 0) <= MOST_EVENTS;
    const pixel = Math.max(Math.floor((until - from) / width), 1);
    const bucket = 2 ** Math.floor(Math.log2(pixel));
    const facet = facetOf(mode, held, kinds, hues);
    const hit = hitOf(search, held.names);
    return {
      start,
      end,
      color_by: mode,
      search,
      rows,
      names: held.names,
      strips: few ? [] : asked.map((track) => stripOf(track, from, until, bucket, facet, hit)),
      events: eventsOf(few ? found : [], from, until, kinds),
      ...rangesOf(ranges, levels, start, end, pixel / 1e9),
    };
  };
  const bucket = async ({ row, start, width }) => {
    const track = tracks.find((one) => one.row === row);
    const found = bucketOf(track, Math.round(start * 1e9), Math.round(width * 1e9));
    return { ...found, text: held.names[found.name] };
  };
  const places = async ({ search, rows, limits: [first, last] }) =>
    placesOf({ tracks, ranges, levels }, hitOf(search, held.names), rows, (last - first) * 1e9);
  const span = ({ start, end, rows }) => {
    const from = Math.round(start * 1e9);
    const until = Math.max(Math.round(end * 1e9), from + 1);
    const asked = tracks.filter(({ row }) => rows === null || rows.includes(row));
    return [asked.map((track) => [track, ...between(track, from, until)]), from, until];
  };
  const isKernel = (name) => kinds.get(name) < KERNEL_KINDS;
  const kernels = async (asked) => kernelsOf(...span(asked), isKernel, held.names);
  const busy = async (asked) => busyOf(...span(asked));
  return { detail, bucket, places, kernels, busy };
}

// Lanes of threads from what the page itself holds, as `rlviz.view.held_threads` packs them.

import { unzippedText } from "./gzip.js";
import { between, eventsOf, stripOf } from "./held.js";
import { Reader } from "./planes.js";

// As `rlviz.levels.lanes` has them.
const MARKS_A_LANE = 600;
const FEW_IN_A_LANE = 60;
const MOST_WIDENED = 2;
const LANE_NAME_BYTES = 3;

async function unpackRow({ lanes, packed }) {
  const reader = new Reader(await unzippedText(packed));
  return lanes.map(([row, length, first]) => {
    const start = reader.starts(length, first);
    const { end, reach } = reader.ends(start);
    return { row, start, end, reach, name: reader.integers(length, LANE_NAME_BYTES), color: reader.whole(length) };
  });
}

// Whether events are few enough to be drawn, and wide enough.
function drawnApart([{ start, end }, first, last], pixel) {
  if (last - first <= FEW_IN_A_LANE) return true;
  if (last - first > MARKS_A_LANE) return false;
  let [length, widened] = [0, 0];
  for (let i = first; i < last; i++) {
    length += end[i] - start[i];
    widened += Math.max(end[i] - start[i], pixel);
  }
  return widened <= MOST_WIDENED * length;
}

// What answers as a kernel would. Rows are unpacked when they are first opened.
export function threadsOf(held) {
  const rows = new Map(held.rows.map((one) => [one.told.row, one]));
  const unpacked = new Map();
  const tracksOf = (row) => {
    if (!unpacked.has(row)) unpacked.set(row, unpackRow(rows.get(row)));
    return unpacked.get(row);
  };
  const lanes = async ({ rows: asked, start, end, width }) => {
    const from = Math.floor(start * 1e9);
    const until = Math.max(Math.ceil(end * 1e9), from + 1);
    const pixel = Math.max((until - from) / width, 1);
    const bucket = 2 ** Math.floor(Math.log2(pixel));
    const tracks = (await Promise.all(asked.map(tracksOf))).flat();
    const found = tracks.map((track) => [track, ...between(track, from, until)]);
    const isMany = (one) => !drawnApart(one, pixel);
    const hues = held.rows[0].told.palette.length;
    const facet = { size: hues, none: hues - 1, of: (track, i) => track.color[i], color: (code) => code };
    const none = { left: [], right: [], row: [], name: [], color: [], kind: [] };
    const strips = found.filter(isMany).map(([track]) => stripOf(track, from, until, bucket, facet, () => true));
    const few = eventsOf(found.filter((one) => !isMany(one)), from, until, new Map());
    return { start, end, names: held.names, many: { strips, events: none }, few: { strips: [], events: few } };
  };
  return { rows: [...rows.keys()], threads: async (row) => rows.get(row).told, lanes };
}

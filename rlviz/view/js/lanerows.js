// Where what a row expands into stands: from the row's lower edge down, in row units.

const ROOM_TOP_PX = 2;
const STRIP_PX = 7;
const RANGES_PX = 13;
const CALLS_PX = 11;
const LANE_GAP_PX = 1;
const THREAD_GAP_PX = 6;
const NOTE_PX = 14;

// `told` is what is known of a row's threads, or a note in place of that.
export function laidBelow(told, { row_px: rowPx }) {
  const found = { lanes: [], notes: [], names: [], strips: [] };
  let at = ROOM_TOP_PX;
  const put = (key, height, one) => {
    const place = { top: at / rowPx, bottom: (at + height) / rowPx };
    found[key].push({ ...one, ...place });
    return place;
  };
  const words = [];
  const note = (text) => {
    if (!text) return;
    put("notes", NOTE_PX, { text });
    words.push(text);
    at += NOTE_PX;
  };
  if (told.stretches?.length > 0) {
    const place = put("strips", STRIP_PX, { stretches: told.stretches });
    // A little lower, away from the row's own name.
    found.names.push({ ...place, bottom: place.bottom + 4 / rowPx, text: "launch-bound" });
    at += STRIP_PX + LANE_GAP_PX;
  }
  note(told.launch);
  for (const { name, tid, lanes, deeper } of told.threads ?? []) {
    at += THREAD_GAP_PX - LANE_GAP_PX;
    const thread = `${name} ${tid}`;
    const begin = at;
    for (const { lane, kind } of lanes) {
      const height = kind === "ranges" ? RANGES_PX : CALLS_PX;
      put("lanes", height, { row: lane, kind, thread });
      at += height + LANE_GAP_PX;
    }
    found.names.push({ top: begin / rowPx, bottom: (at - LANE_GAP_PX) / rowPx, text: thread });
    words.push(`${thread}: ${lanes.map(({ kind, count }) => `${count} ${kind}`).join(", ")}.`);
    note(deeper);
  }
  for (const text of [told.more, told.absent, told.note]) note(text);
  return { ...found, words: words.join(" "), height: (at + THREAD_GAP_PX) / rowPx };
}

// What a span of time sums up to, from the events that a page holds: as `rlviz.view.span_sums` does.

const MOST_KERNELS = 20;

function inSpan(track, i, start, end) {
  return track.start[i] < end && (track.end[i] > start || track.start[i] === start);
}

// `found` lists tracks with the first and behind the last of their events that may be in the span;
// `isKernel` tells of a name whether it is a kernel's, `names` are texts by code.
export function kernelsOf(found, start, end, isKernel, names) {
  const counts = new Map();
  const totals = new Map();
  for (const [track, first, last] of found) {
    for (let i = first; i < last; i++) {
      const name = track.name[i];
      if (!isKernel(name) || !inSpan(track, i, start, end)) continue;
      const length = Math.min(track.end[i], end) - Math.max(track.start[i], start);
      counts.set(name, (counts.get(name) ?? 0) + 1);
      totals.set(name, (totals.get(name) ?? 0) + length);
    }
  }
  const sum = (numbers) => [...numbers.values()].reduce((one, other) => one + other, 0);
  const order = ([one, a], [other, b]) => b - a || (names[one] < names[other] ? -1 : 1);
  const most = [...totals].sort(order).slice(0, MOST_KERNELS);
  return {
    kernels: most.map(([name, total]) => [names[name], counts.get(name), total / 1e9]),
    names: totals.size,
    count: sum(counts),
    total: sum(totals) / 1e9,
  };
}

// Busy time of each row: the union of its events, which ascend by start.
export function busyOf(found, start, end) {
  const busy = [];
  for (const [track, first, last] of found) {
    let sum = 0;
    let reach = start;
    for (let i = first; i < last; i++) {
      const until = Math.min(track.end[i], end);
      sum += Math.max(until - Math.max(track.start[i], reach), 0);
      reach = Math.max(reach, until);
    }
    busy.push([track.row, sum / 1e9]);
  }
  return { busy };
}

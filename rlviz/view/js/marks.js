// The columns of bars and ranges, and what of them lies under a point.

// Rows of a column-oriented table by the value of `row`: an array of indices each, in order.
export function byRow(row) {
  const found = new Map();
  for (let i = 0; i < row.length; i++) {
    let list = found.get(row[i]);
    if (list === undefined) found.set(row[i], (list = []));
    list.push(i);
  }
  return found;
}

// Plain arrays, and copies: Bokeh's own carry shapes, and change under us when a source is set.
function columnsOf(source) {
  const columns = {};
  for (const name of source.columns()) columns[name] = Float64Array.from(source.get_array(name));
  return columns;
}

function joined(one, other) {
  const columns = {};
  for (const name of Object.keys(one)) {
    const both = new Float64Array(one[name].length + other[name].length);
    both.set(one[name]);
    both.set(other[name], one[name].length);
    columns[name] = both;
  }
  return columns;
}

export class Marks {
  constructor(doc) {
    this.overlaySource = doc.get_model_by_name("overlays");
    this.bars = columnsOf(doc.get_model_by_name("bars"));
    const shown = columnsOf(this.overlaySource);
    const hidden = columnsOf(doc.get_model_by_name("hidden"));
    this.all = joined(shown, hidden);
    this.hiddenDomains = new Set(hidden.domain);
    for (const domain of new Set(shown.domain)) this.hiddenDomains.delete(domain);
    this.offered = [...this.hiddenDomains];
    // A range of a shown domain that is off for its own reasons stays off.
    this.off = new Uint8Array(this.all.left.length);
    for (let i = shown.left.length; i < this.off.length; i++) {
      this.off[i] = this.hiddenDomains.has(this.all.domain[i]) ? 0 : 1;
    }
    this.barRows = byRow(this.bars.row);
    this.hiddenRows = new Set();
    this.use(shown);
  }

  // Other ranges in place of those of the first view; null brings them back.
  replaceRanges(ranges) {
    this.first ??= { all: this.all, off: this.off };
    this.off = this.first.off;
    this.all = this.first.all;
    if (ranges !== null) {
      const { shown, ...all } = ranges;
      this.all = all;
      this.off = Uint8Array.from(all.left, (_, i) =>
        shown[i] || this.offered.includes(all.domain[i]) ? 0 : 1,
      );
    }
    this.filter();
  }

  // Where a mark stands that comes from the scene or from detail: `Room` may have moved it.
  lowered(y) {
    return y;
  }

  // Whether ranges that may be narrower than `pixel` seconds were drawn as one.
  coarse(pixel) {
    const { left, right, count } = this.overlays;
    return count.some((many, i) => many > 1 && right[i] - left[i] > 2 * pixel);
  }

  // The bar at an index, or null at -1.
  bar(i) {
    if (i < 0) return null;
    return Object.fromEntries(Object.entries(this.bars).map(([name, column]) => [name, column[i]]));
  }

  use(overlays) {
    this.overlays = overlays;
    this.overlayRows = byRow(overlays.row);
    // Outer ranges first: they are labelled first, and the last that holds a point is the innermost.
    for (const list of this.overlayRows.values()) {
      list.sort((a, b) => overlays.depth[a] - overlays.depth[b] || overlays.left[a] - overlays.left[b]);
    }
    this.changed?.();
  }

  // Leave out the ranges of some domains, and all of some rows.
  choose(hiddenDomains, hiddenRows) {
    const same = (one, other) => one.size === other.size && [...one].every((key) => other.has(key));
    if (same(hiddenDomains, this.hiddenDomains) && same(hiddenRows, this.hiddenRows)) return;
    this.hiddenDomains = hiddenDomains;
    this.hiddenRows = hiddenRows;
    this.filter();
  }

  visible({ domain, row }, i) {
    return !this.hiddenDomains.has(domain[i]) && !this.hiddenRows.has(row[i]);
  }

  filter() {
    const keep = [];
    for (let i = 0; i < this.off.length; i++) {
      if (!this.off[i] && this.visible(this.all, i)) keep.push(i);
    }
    const columns = {};
    for (const [name, column] of Object.entries(this.all)) {
      columns[name] = Float64Array.from(keep, (i) => column[i]);
    }
    for (const name of ["top", "bottom"]) columns[name] = columns[name].map((y) => this.lowered(y));
    this.overlaySource.data = columns;
    this.use(columns);
  }

  // The bar of `row` at `at` seconds, or the nearest within `slack` seconds; -1 without one.
  barAt(row, at, slack) {
    const list = this.barRows.get(row);
    if (list === undefined || this.hiddenRows.has(row)) return -1;
    const { left, right } = this.bars;
    let low = 0;
    let high = list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (left[list[middle]] <= at) low = middle + 1;
      else high = middle;
    }
    let best = -1;
    let distance = slack;
    for (const k of [low - 1, low - 2, low]) {
      if (k < 0 || k >= list.length) continue;
      const i = list[k];
      const away = Math.max(left[i] - at, at - right[i], 0);
      if (away <= distance && (best < 0 || away < distance)) {
        best = i;
        distance = away;
      }
    }
    return best;
  }

  // The innermost range of `row` at `at` seconds and height `y`; narrow ones reach `slack` further.
  rangeAt(row, at, y, slack) {
    const list = this.overlayRows.get(row);
    if (list === undefined) return -1;
    const { left, right, top, bottom } = this.overlays;
    let best = -1;
    let miss = Infinity;
    for (const i of list) {
      const away = Math.max(left[i] - at, at - right[i], 0);
      if (away > slack || y < top[i] || y > bottom[i]) continue;
      if (away <= miss) {
        best = i;
        miss = away;
      }
    }
    if (best >= 0) return best;
    // Above or below a nested range's inset there is still its parent's band.
    for (const i of list) if (left[i] <= at && at <= right[i]) best = i;
    return best;
  }
}

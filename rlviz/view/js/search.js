// Names that a reader looks for: of ranges, and of the kernels that bars mostly stand for.

import { GIVE_UP_MS } from "./explain.js";

// Bars that touch are one place, not hundreds.
const TOUCHING_S = 1e-9;

export class Search {
  constructor(facts, marks) {
    this.facts = facts;
    this.marks = marks;
    // Places of one text, from who knows all names of the run.
    this.answer = null;
    this.askedAt = -Infinity;
    this.find("");
  }

  // Look for `text` in all that is not hidden; places are in the order of time.
  find(text) {
    const wanted = text.trim().toLowerCase();
    const last = wanted === this.wanted && this.cursor >= 0 ? this.places[this.cursor] : null;
    this.wanted = wanted;
    this.known = new Map();
    this.places = wanted === "" ? [] : this.answer?.search === wanted ? this.answered() : this.firstSeen();
    this.places.sort((a, b) => a.left - b.left || a.top - b.top);
    // Another row hidden, another domain shown: the cursor stays about where it was.
    const from = ({ left, top }) => left > last.left || (left === last.left && top >= last.top);
    const at = last === null ? -1 : this.places.findIndex(from);
    this.cursor = last !== null && at < 0 ? this.places.length - 1 : at;
  }

  // Ask `source` for all places, one text at a time; `found` is called when they have come.
  async seek(source, found) {
    const { wanted } = this;
    if (source?.places === undefined || wanted === "" || this.answer?.search === wanted) return;
    if (performance.now() - this.askedAt < GIVE_UP_MS) return;
    const askedAt = (this.askedAt = performance.now());
    const { limits } = this.facts;
    const rows = this.marks.standing ?? this.facts.rows;
    let columns = null;
    try {
      columns = await source.places({ search: wanted, rows, limits });
    } catch {
      // What the first view shows is found all the same.
    }
    if (askedAt !== this.askedAt) return;
    this.askedAt = -Infinity;
    if (columns !== null) this.answer = { search: wanted, columns };
    if (wanted !== this.wanted) {
      this.seek(source, found);
    } else if (columns !== null) {
      this.find(wanted);
      found();
    }
  }

  // Places are elsewhere now.
  forget() {
    this.answer = null;
    this.askedAt = -Infinity;
    this.cursor = -1;
  }

  // Places of columns, as they stand now: of those that `wanted` tells of by their index.
  seen(columns, wanted) {
    const { marks } = this;
    const { left, right, top, bottom, row } = columns;
    const low = (y) => marks.lowered(y);
    const found = [];
    for (let i = 0; i < left.length; i++) {
      if (!wanted(i) || !marks.visible(columns, i)) continue;
      found.push({ left: left[i], right: right[i], top: low(top[i]), bottom: low(bottom[i]), row: row[i] });
    }
    return found;
  }

  answered() {
    const { columns } = this.answer;
    const { offered } = this.marks;
    return this.seen(columns, (i) => columns.shown[i] || offered.includes(columns.domain[i]));
  }

  firstSeen() {
    return [...this.rangePlaces(), ...this.barPlaces()];
  }

  get active() {
    return this.wanted !== "";
  }

  // Whether the name behind a code holds the text.
  hit(code) {
    let found = this.known.get(code);
    if (found === undefined) {
      found = (this.facts.names[code] ?? "").toLowerCase().includes(this.wanted);
      this.known.set(code, found);
    }
    return found;
  }

  rangePlaces() {
    const { all, off } = this.marks.first ?? this.marks;
    return this.seen(all, (i) => !off[i] && this.hit(all.name[i]));
  }

  // Bars of such names that follow each other without a gap are one place.
  barPlaces() {
    const { left, right, name } = this.marks.bars;
    const found = [];
    for (const { row, top, bottom } of this.facts.rows) {
      if (this.marks.hiddenRows.has(row)) continue;
      let last = null;
      for (const i of this.marks.barRows.get(row) ?? []) {
        if (!this.hit(name[i])) {
          last = null;
        } else if (last !== null && left[i] <= last.right + TOUCHING_S) {
          last.right = Math.max(last.right, right[i]);
        } else {
          found.push((last = { left: left[i], right: right[i], top, bottom, row }));
        }
      }
    }
    return found;
  }

  // The next place, or the one before; the first step goes to the first that begins in sight.
  step(by, start) {
    const { length } = this.places;
    if (length === 0) return null;
    if (this.cursor < 0) {
      const inside = this.places.findIndex(({ left }) => left >= start);
      this.cursor = inside < 0 ? 0 : inside;
      if (by < 0) this.cursor -= 1;
    } else {
      this.cursor += by;
    }
    this.cursor = (this.cursor + length) % length;
    return this.places[this.cursor];
  }
}

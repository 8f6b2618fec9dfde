// Names that a reader looks for: of ranges, and of the kernels that bars mostly stand for.

// Bars that touch are one place, not hundreds.
const TOUCHING_S = 1e-9;

export class Search {
  constructor(facts, marks) {
    this.facts = facts;
    this.marks = marks;
    this.find("");
  }

  // Look for `text` in all that is not hidden; places are in the order of time.
  find(text) {
    const wanted = text.trim().toLowerCase();
    const again = wanted === this.wanted;
    this.wanted = wanted;
    this.known = new Map();
    this.places = wanted === "" ? [] : [...this.ranges(), ...this.runs()];
    this.places.sort((a, b) => a.left - b.left || a.top - b.top);
    // Another row hidden, another domain shown: the cursor stays about where it was.
    this.cursor = again ? Math.min(this.cursor, this.places.length - 1) : -1;
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

  ranges() {
    const { marks } = this;
    const { all, off } = marks.first ?? marks;
    const found = [];
    for (let i = 0; i < off.length; i++) {
      if (!off[i] && marks.visible(all, i) && this.hit(all.name[i])) {
        const { left, right, top, bottom, row } = all;
        found.push({ left: left[i], right: right[i], top: top[i], bottom: bottom[i], row: row[i] });
      }
    }
    return found;
  }

  runs() {
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

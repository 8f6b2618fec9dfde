// Runs below each other begin an iteration together: all that stands on the chart is moved, a run at
// a time, when that is to be another iteration.

// What of the facts has a place in time.
const PLACED = {
  brackets: ["left", "right"],
  lines: ["at"],
  shades: ["left", "right"],
  bubbles: ["left", "right"],
  remarks: ["left", "right"],
};
// Data sources that the lens does not write anew at every move.
const STANDING = /^(bars|not_captured|no_gpu_data|edge|reading|lines-\w+|brackets|caps)$/;
const TIMES = ["left", "right", "x", "x0", "x1"];
const HEIGHTS = ["top", "y0"];

export class Alignment {
  constructor(lens) {
    const { facts } = lens;
    this.lens = lens;
    this.known = facts.alignments;
    this.now = this.known.find(({ iteration: [number] }) => number === facts.iterations[0]?.[0]) ?? null;
    // Of runs that are compared, bars and ranges of the first view are those of one iteration.
    this.drawn = this.now;
    this.groups = new Map(facts.rows.map(({ row, group }) => [row, group]));
    // What asks for the detail of another alignment, where that needs more than its number.
    this.changed = () => {};
    // Each takes the shifts and moves a part of the chart from where it stood at first.
    this.movers = this.known.length > 1 ? [...this.ofFacts(), ...this.ofMarks(), ...this.ofSources()] : [];
  }

  // Of the iteration that begins at second 0; undefined where there is but one run.
  get number() {
    return this.now?.iteration[0];
  }

  get numbers() {
    return this.known.map(({ iteration: [number] }) => number);
  }

  // Seconds that a row stands away from where it stood at first.
  shiftOf(row) {
    return this.now?.shifts[this.groups.get(row)] ?? 0;
  }

  // Have an iteration begin at second 0; whether it does.
  at(number) {
    const wanted = this.known.find(({ iteration: [own] }) => own === number);
    if (wanted === undefined || wanted === this.now) return wanted !== undefined;
    this.now = wanted;
    const { lens } = this;
    const { facts, doc, range, detail } = lens;
    detail.forget();
    for (const move of this.movers) move(wanted.shifts);
    [facts.window, facts.limits, facts.iterations] = [wanted.window, wanted.limits, [wanted.iteration]];
    range.setv({ bounds: wanted.limits });
    lens.home();
    const [start, end] = wanted.limits;
    doc.get_model_by_name("overview")?.x_range.setv({ start, end });
    lens.marks.filter();
    lens.chrome.retell(wanted);
    lens.measure.clear();
    lens.kernels.close();
    this.changed();
    lens.controls.realigned();
    return true;
  }

  // Whether the marks of the first view are all that there is between two moments.
  shows(start, end) {
    if (this.now === null) return true;
    const [first, last] = this.now.window;
    return this.now === this.drawn && first <= start && end <= last;
  }

  // A picture of the whole run that came with the chart, where it is now.
  moved(picture) {
    if (this.now === null) return picture;
    const strips = picture.strips.map((strip) => ({ ...strip, start: strip.start + this.shiftOf(strip.row) }));
    return { ...picture, strips };
  }

  ofFacts() {
    const { facts } = this.lens;
    return Object.entries(PLACED).map(([name, keys]) => {
      const first = facts[name].map((one) => keys.map((key) => one[key]));
      const groups = facts[name].map(({ group, row }) => group ?? this.groups.get(row));
      return (shifts) =>
        facts[name].forEach((one, i) =>
          keys.forEach((key, k) => {
            if (first[i][k] !== null) one[key] = first[i][k] + shifts[groups[i]];
          }),
        );
    });
  }

  ofMarks() {
    const { marks } = this.lens;
    const all = (marks.first ?? marks).all;
    return [marks.bars, all].map((columns) => {
      const groups = Array.from(columns.row, (row) => this.groups.get(row));
      const first = ["left", "right"].map((key) => [key, Float64Array.from(columns[key])]);
      return (shifts) => {
        for (const [key, values] of first) values.forEach((at, i) => (columns[key][i] = at + shifts[groups[i]]));
      };
    });
  }

  ofSources() {
    const { doc, main, facts } = this.lens;
    const movers = [];
    const add = (source, groupOf) => {
      const first = source.columns().filter((key) => TIMES.includes(key));
      const held = first.map((key) => [key, Float64Array.from(source.get_array(key))]);
      movers.push((shifts) => {
        const moved = held.map(([key, values]) => [key, values.map((at, i) => at + shifts[groupOf(i)])]);
        source.data = { ...source.data, ...Object.fromEntries(moved) };
      });
    };
    for (const { data_source: source } of main.renderers) {
      if (!STANDING.test(source.name)) continue;
      const key = HEIGHTS.find((one) => source.columns().includes(one));
      const groups = Array.from(source.get_array(key), (y) => this.groupAt(y));
      add(source, (i) => groups[i]);
    }
    doc.get_model_by_name("overview")?.renderers.forEach(({ data_source: source }, strip) => {
      add(source, () => facts.strips[strip]);
    });
    return movers;
  }

  // The run at a height: its pools end where the next run's heading begins.
  groupAt(y) {
    return this.lens.facts.pools.findLast(({ top }) => top <= y + 1e-6)?.group;
  }
}

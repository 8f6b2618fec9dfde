// What the bars are painted in: by phase, kind or kernel; what a search did not find is dimmed.

const DIMMED = 0.2;

function mixed(color, ground, share) {
  const part = (css, i) => parseInt(css.slice(i, i + 2), 16);
  const parts = [1, 3, 5].map((i) =>
    Math.round(part(color, i) * share + part(ground, i) * (1 - share)),
  );
  return `#${parts.map((one) => one.toString(16).padStart(2, "0")).join("")}`;
}

export class Coloring {
  constructor(facts, bars) {
    this.facts = facts;
    this.bars = bars;
    this.codes = new Int16Array(bars.left.length);
  }

  // `mode` is phase, kind or kernel; `hit` tells of a name's code whether a search found it, and is
  // null where there is none; `ground` is what dimmed colours fade into.
  use(mode, hit, hiddenRows, ground) {
    const { palette, names } = this.facts.coloring[mode];
    this.mode = mode;
    this.hit = hit;
    this.fills = [...palette, ...palette.map((color) => mixed(color, ground, DIMMED))];
    this.dim = palette.length;
    this.kernels = names === undefined ? null : new Map(names.map((name, i) => [name, i]));
    const { row, name, color, kind } = this.bars;
    for (let i = 0; i < this.codes.length; i++) {
      this.codes[i] = hiddenRows.has(row[i]) ? -1 : this.code(name[i], color[i], kind[i]);
    }
  }

  code(name, color, kind) {
    const bright =
      this.mode === "phase" ? color
      : this.mode === "kind" ? kind
      : this.kernels.get(name) ?? this.dim - 1;
    return this.hit === null || this.hit(name) ? bright : bright + this.dim;
  }

  // The kind that goes with a colour by phase: detail tells no other.
  kindOf(color) {
    return this.facts.coloring.kind.of_color[color];
  }

  // Aggregates of detail have no names, and graph launches hide in the phases.
  get suitsStrips() {
    return this.hit === null && (this.mode === "phase" || (this.mode === "kind" && this.suitsEvents));
  }

  get suitsEvents() {
    return this.mode !== "kind" || this.facts.coloring.kind.of_color !== null;
  }

  // Without a name: an aggregate of detail.
  fill(color, name) {
    return this.fills[this.code(name, color, this.mode === "kind" ? this.kindOf(color) : 0)];
  }
}

// What the bars are painted in: by phase, kind or kernel; what a search did not find is dimmed.

import { rgba } from "./raster.js";

const DIMMED = 0.2;
const DARKER = 0.65;

export function mixed(color, ground, share) {
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
    // By code: CSS colours, and pixels of them and of their darker edges. Dimmed ones stand `dim`
    // behind the bright ones.
    this.fills = [...palette, ...palette.map((color) => mixed(color, ground, DIMMED))];
    this.inks = Uint32Array.from(this.fills, (css) => rgba(css, 1));
    this.darker = Uint32Array.from(this.fills, (css) => rgba(css, DARKER));
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

  // What a colour of a mode means.
  says(mode, color) {
    if (mode === "phase") return this.facts.colors[color];
    const { palette, names, legend } = this.facts.coloring[mode];
    if (names !== undefined && color < names.length) return this.facts.names[names[color]];
    return legend.find((entry) => entry.color === palette[color])?.label ?? "";
  }
}

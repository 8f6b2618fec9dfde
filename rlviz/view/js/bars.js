// How the bars of the first view are painted: thousands of them at every move.

import { placing } from "./canvas.js";

// Whole pixels and one filled rectangle a bar. Bokeh's own way, a path a bar, takes several times
// as long, leaves seams of half-covered pixels between neighbours, and lets a bar narrower than a
// pixel fade away.
export function paintBars(context, lens) {
  const { left, right, top, bottom } = lens.marks.bars;
  const { codes, fills } = lens.controls.coloring;
  const { start, end, left: x0, right: x1, scale, top: y0, units } = placing(lens);
  let painted = -1;
  for (let i = 0; i < codes.length; i++) {
    if (codes[i] < 0 || right[i] < start || left[i] > end) continue;
    if (codes[i] !== painted) {
      painted = codes[i];
      context.fillStyle = fills[painted];
    }
    const x = Math.round(Math.max(x0 + (left[i] - start) * scale, x0 - 1));
    const y = Math.round(y0 + top[i] * units);
    const width = Math.max(1, Math.round(Math.min(x0 + (right[i] - start) * scale, x1 + 1)) - x);
    const height = Math.max(1, Math.round(y0 + bottom[i] * units) - y);
    // Bokeh moves its canvas by half a pixel, for sharp lines; bars are areas.
    context.fillRect(x - 0.5, y - 0.5, width, height);
  }
}

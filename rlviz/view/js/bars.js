// How bars are painted: thousands of them at every move.

// Whole pixels and one filled rectangle a bar. Bokeh's own way, a path a bar, takes several times
// as long, leaves seams of half-covered pixels between neighbours, and lets a bar narrower than a
// pixel fade away. Where a version of Bokeh paints in another way, its own way stays.
export function paintBarsFast(view, coloring) {
  const glyph = view.glyph;
  if (typeof glyph?._paint !== "function") return;
  glyph._paint = function (context, indices, data) {
    const { sleft, sright, stop, sbottom } = { ...this, ...data };
    const { codes, fills } = coloring;
    let painted = -1;
    for (const i of indices) {
      if (codes[i] < 0) continue;
      if (codes[i] !== painted) {
        painted = codes[i];
        context.fillStyle = fills[painted];
      }
      const x = Math.round(sleft[i]);
      const y = Math.round(stop[i]);
      const width = Math.max(1, Math.round(sright[i]) - x);
      const height = Math.max(1, Math.round(sbottom[i]) - y);
      // Bokeh moves its canvas by half a pixel, for sharp lines; bars are areas.
      context.fillRect(x - 0.5, y - 0.5, width, height);
    }
  };
}

// Ranges, labels and row names, painted from their columns. Bokeh keeps six glyphs for each kind of
// mark, measures every text in all six whenever one changes, and lays out anew what has not moved:
// at every turn of the wheel that took several times as long as all the rest. Where a version of
// Bokeh paints in another way, its own way stays.

const NARROW_PX = 2;
const BEYOND_PX = 4;
// Letters without descenders look as if they stood too high.
const MIDDLE_PX = 1;

// A property that Bokeh may hold as { value }.
function plain(spec) {
  return spec !== null && typeof spec === "object" && "value" in spec ? spec.value : spec;
}

export function paintsAlone(view) {
  return typeof view?._paint === "function" && typeof view.request_paint === "function";
}

// In place of a data source: what is painted is what it holds.
class Columns {
  constructor(view, data) {
    this.view = view;
    this.held = data;
  }

  get data() {
    return this.held;
  }

  set data(columns) {
    this.held = columns;
    this.view.request_paint();
  }
}

export function paintFast(lens) {
  const { main, views, marks, labels } = lens;
  spareStyles(lens.view);
  const viewsOf = (source) =>
    main.renderers.filter(({ data_source }) => data_source === source).map((one) => views.find_one(one));
  takeRanges(lens, viewsOf(marks.overlaySource));
  const take = (source) => (source === null ? null : takeLabels(lens, source, viewsOf(source)));
  labels.ranges = take(labels.ranges);
  labels.lines = take(labels.lines);
  labels.bubbles = take(labels.bubbles);
  labels.brackets = new Map([...labels.brackets].map(([source, own]) => [take(source), own]));
  for (const name of ["main", "overview"]) {
    const plot = lens.doc.get_model_by_name(name);
    if (plot !== null) spareLayout(lens, plot);
  }
}

// Bokeh asks the page's styles for every colour and width at each painting, should a style sheet set
// them otherwise: none does here, and in a large page each question takes its time.
function spareStyles({ visuals }) {
  for (let part of visuals ?? []) {
    while (part !== null && !Object.hasOwn(part, "_get_css_value")) part = Object.getPrototypeOf(part);
    if (part !== null) part._get_css_value = () => "";
  }
}

// What stands still is measured and placed once.
function spareLayout(lens, plot) {
  for (const axis of [...plot.left, ...plot.right]) takeRowNames(lens.views.find_one(axis), plot);
  const view = lens.views.find_one(plot);
  const { renderer_views: parts } = view;
  // Asked of the page's styles for every set of labels; no text here has a size in ems.
  Object.defineProperty(view, "base_font_size", { value: view.base_font_size });
  for (const { position } of parts?.values() ?? []) {
    if (typeof position?.replace !== "function") continue;
    const replace = position.replace.bind(position);
    let last;
    // Each replaced style sheet has the page compute its styles anew, be it the same.
    position.replace = (css, ...more) => {
      if (css === last && more.length === 0) return;
      last = css;
      replace(css, ...more);
    };
  }
}

function takeRowNames(view, plot) {
  const names = view?.model.major_label_overrides;
  if (!view?.model.visible || !(names instanceof Map) || !paintsAlone(view)) return;
  const { extents } = view;
  if (extents === undefined) return;
  Object.defineProperty(view, "extents", { value: extents });
  view._paint = (context) => paintRowNames(context, view, plot, names);
}

function paintRowNames(context, { bbox, model, plot_view: { frame } }, plot, names) {
  const { top, bottom } = frame.bbox;
  const units = (bottom - top) / (plot.y_range.start - plot.y_range.end);
  const onLeft = plot.left.includes(model);
  setFont(context, model, "major_label_text_");
  context.textAlign = onLeft ? "right" : "left";
  context.textBaseline = "middle";
  const standoff = model.major_label_standoff;
  const x = onLeft ? bbox.right - standoff : bbox.left + standoff;
  for (const [at, { text }] of names) context.fillText(text, x, top + Number(at) * units + MIDDLE_PX);
}

// By how a font was asked for, how a canvas tells it.
const toldFonts = new Map();

function setFont(context, model, prefix) {
  const [style, size, family] = ["font_style", "font_size", "font"].map((key) => plain(model[prefix + key]));
  const asked = `${style} ${size} ${family}`;
  // Setting it has the page compute its styles anew, be it the same.
  if (context.font !== toldFonts.get(asked)) {
    context.font = asked;
    toldFonts.set(asked, context.font);
  }
  context.fillStyle = plain(model[`${prefix}color`]);
}

function takeRanges(lens, [view]) {
  if (!paintsAlone(view)) return;
  lens.marks.overlaySource = new Columns(view, null);
  view._paint = (context) => paintRanges(context, lens, view.model.glyph);
}

function takeLabels(lens, source, views) {
  if (!views.every(paintsAlone)) return source;
  const columns = new Columns(views[0], source.data);
  for (const view of views) view._paint = (context) => paintTexts(context, lens, columns, view.model.glyph);
  // Nothing is left for Bokeh to measure.
  source.data = Object.fromEntries(Object.keys(source.data).map((name) => [name, []]));
  return columns;
}

// From seconds and row units to pixels of the canvas.
export function placing(lens) {
  const { left, right, top, bottom, width } = lens.frame;
  const [start, end] = lens.window;
  const scale = width / (end - start);
  const units = (bottom - top) / lens.facts.height;
  return { start, end, left, right, scale, top, units };
}

function paintRanges(context, lens, glyph) {
  const { overlays } = lens.marks;
  const { start, end, left, right, scale, top, units } = placing(lens);
  const [fills, lines] = [glyph.fill_color, glyph.line_color].map((one) => one.transform.palette);
  const [fillAlpha, lineAlpha] = [glyph.fill_alpha, glyph.line_alpha].map(plain);
  context.lineWidth = plain(glyph.line_width);
  const [low, high] = [left - BEYOND_PX, right + BEYOND_PX];
  let color = -1;
  for (let i = 0; i < overlays.left.length; i++) {
    if (overlays.right[i] < start || overlays.left[i] > end) continue;
    if (overlays.color[i] !== color) {
      color = overlays.color[i];
      context.strokeStyle = lines[color];
    }
    const x = Math.round(Math.max(left + (overlays.left[i] - start) * scale, low));
    const width = Math.round(Math.min(left + (overlays.right[i] - start) * scale, high)) - x;
    const y = Math.round(top + overlays.top[i] * units);
    const height = Math.round(top + overlays.bottom[i] * units) - y;
    if (width <= NARROW_PX) {
      context.globalAlpha = lineAlpha;
      context.fillStyle = lines[color];
      context.fillRect(x - 0.5, y - 0.5, Math.max(width, 1), height + 1);
      continue;
    }
    if (fillAlpha > 0) {
      context.globalAlpha = fillAlpha;
      context.fillStyle = fills[color];
      context.fillRect(x, y, width, height);
    }
    context.globalAlpha = lineAlpha;
    context.strokeRect(x, y, width, height);
  }
}

function paintTexts(context, lens, { data }, glyph) {
  const { x, y, text, alpha } = data;
  if (text.length === 0) return;
  const { start, left, scale, top, units } = placing(lens);
  const outline = plain(glyph.text_outline_color);
  setFont(context, glyph, "text_");
  context.textAlign = plain(glyph.text_align);
  // As Bokeh places it: the font's own height above or below.
  const { fontBoundingBoxAscent: ascent, fontBoundingBoxDescent: descent } = context.measureText("x");
  const below = plain(glyph.text_baseline) === "top";
  const dx = plain(glyph.x_offset);
  const dy = plain(glyph.y_offset) + (below ? ascent : -descent);
  context.lineJoin = "round";
  context.lineWidth = plain(glyph.text_outline_width);
  if (outline !== null) context.strokeStyle = outline;
  for (let i = 0; i < text.length; i++) {
    context.globalAlpha = alpha?.[i] ?? 1;
    const at = left + (x[i] - start) * scale + dx;
    const down = top + y[i] * units + dy;
    if (outline === null) context.fillText(text[i], at, down);
    else context.strokeText(text[i], at, down);
  }
}

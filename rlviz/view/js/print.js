// A page on paper: in light colours, as wide as the paper, all tables open. The browser prints what
// is there when it has told so: nothing can wait for a frame.

// What both A4 and Letter have, less their margins, and in height also less what stands above.
const PAPER = { landscape: { width: 960, room: 630 }, portrait: { width: 700, room: 820 } };
// A chart that would be smaller yet takes several pages.
const SMALLEST = 0.4;
// Letters of a canvas are pixels, and paper has more of them than a screen. Chromium prints a canvas
// at the next lower 64th of its scale: a quarter is one, a third would come out two hundredths small.
const PIXEL_RATIO = 4;

function plotsOf(lens) {
  const plots = ["main", "overview"].map((name) => lens.doc.get_model_by_name(name));
  return plots.filter((plot) => plot !== null).map((plot) => lens.views.find_one(plot));
}

function layOut(lens) {
  for (const view of lens.views.roots) view.after_resize();
  lens.moved();
}

function paint(lens) {
  for (const view of plotsOf(lens)) {
    view.request_paint();
    view.paint();
  }
}

// Chromium prints Bokeh's canvases as empty ones, or parts of them elsewhere, until it has shown
// them; and so it does with any that stands inside of Bokeh's elements.
function copied({ el, canvas_view: { primary: { canvas } } }, place, scale) {
  const copy = document.createElement("canvas");
  const [box, around] = [el, place].map((one) => one.getBoundingClientRect());
  [copy.width, copy.height] = [box.width, box.height].map((px) => Math.round(px * scale * PIXEL_RATIO));
  const context = copy.getContext("2d", { willReadFrequently: true });
  context.imageSmoothingQuality = "high";
  context.drawImage(canvas, 0, 0, copy.width, copy.height);
  copy.style.position = "absolute";
  const sides = { left: box.left - around.left, top: box.top - around.top };
  for (const [side, px] of Object.entries(sides)) copy.style[side] = `${px * scale}px`;
  for (const side of ["width", "height"]) copy.style[side] = `${copy[side] / PIXEL_RATIO}px`;
  return copy;
}

// In the overview: its own frame of the window is none of the canvas.
function frameWindow(copy, { frame: { bbox, x_scale: x } }, [start, end], scale) {
  const context = copy.getContext("2d");
  context.scale(PIXEL_RATIO * scale, PIXEL_RATIO * scale);
  const [left, right] = [start, end].map((at) => x.compute(at));
  context.strokeStyle = "#6b7280";
  context.strokeRect(left, bbox.top, right - left, bbox.height);
}

// Bokeh and the lens read the ratio of the screen wherever they size and paint their pixels.
function pretendRatio() {
  const screen = Object.getOwnPropertyDescriptor(globalThis, "devicePixelRatio");
  Object.defineProperty(globalThis, "devicePixelRatio", { value: PIXEL_RATIO, configurable: true });
  return () => Object.defineProperty(globalThis, "devicePixelRatio", screen);
}

// A chart that is higher than a page is laid out larger, and then shrunk.
function narrowed({ root, facts, chrome: { plot } }, { width }, scale) {
  root.style.width = `${width}px`;
  plot.style.width = `${width / scale}px`;
  const keep = (name, factor) => root.style.setProperty(`--rlviz-${name}`, `${facts[`${name}_px`] * factor}px`);
  for (const name of ["left", "right"]) keep(name, scale);
  return () => {
    for (const { style } of [root, plot]) style.removeProperty("width");
    for (const name of ["left", "right"]) keep(name, 1);
  };
}

export function printing(lens, paper) {
  const { asked } = lens;
  const { plot } = lens.chrome;
  let undo = [];
  let scale = 1;
  addEventListener("beforeprint", () => {
    scale = Math.max(Math.min(PAPER[paper].room / plot.offsetHeight, 1), SMALLEST);
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      undo.push(() => (one.open = false));
    }
    undo.push(pretendRatio(), narrowed(lens, PAPER[paper], scale));
    lens.setTheme("light");
    layOut(lens);
  });
  // Between two listeners Bokeh takes over the colours.
  addEventListener("beforeprint", () => {
    paint(lens);
    const [main, overview] = plotsOf(lens);
    const copies = [main, overview].filter(Boolean).map((view) => copied(view, plot, scale));
    if (overview !== undefined) frameWindow(copies[1], overview, lens.window, scale);
    const { offsetWidth: width, offsetHeight: height } = plot;
    for (const { style } of plot.children) {
      style.zoom = scale;
      undo.push(() => (style.zoom = ""));
    }
    const live = lens.views.roots[0].el.style;
    Object.assign(live, { zoom: "", visibility: "hidden", width: `${width}px` });
    // A box that clips is not broken over pages.
    Object.assign(plot.style, { width: `${width * scale}px`, height: `${height * scale}px`, overflow: "hidden" });
    plot.append(...copies);
    undo.push(() => {
      for (const copy of copies) copy.remove();
      live.visibility = live.width = plot.style.height = plot.style.overflow = "";
    });
  });
  addEventListener("afterprint", () => {
    for (const one of undo) one();
    undo = [];
    lens.setTheme(asked);
    layOut(lens);
  });
}

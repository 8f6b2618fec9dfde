// A page on paper: in light colours, as wide as the paper, all tables open. The browser prints what
// is there when it has told so: nothing can wait for a frame.

// What A4 and Letter have across, less their margins.
const WIDTH_PX = 960;
// Letters of a canvas are pixels, and paper has more of them than a screen.
const PIXEL_RATIO = 3;

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
function copied({ el, canvas_view: { primary: { canvas } } }, place) {
  const copy = document.createElement("canvas");
  [copy.width, copy.height] = [canvas.width, canvas.height];
  copy.getContext("2d", { willReadFrequently: true }).drawImage(canvas, 0, 0);
  const [box, around] = [el, place].map((one) => one.getBoundingClientRect());
  const [left, top] = [box.left - around.left, box.top - around.top];
  copy.style.cssText = `position: absolute; left: ${left}px; top: ${top}px; width: ${box.width}px`;
  place.append(copy);
  return copy;
}

// Bokeh and the lens read the ratio of the screen wherever they size and paint their pixels.
function pretendRatio() {
  const screen = Object.getOwnPropertyDescriptor(globalThis, "devicePixelRatio");
  Object.defineProperty(globalThis, "devicePixelRatio", { value: PIXEL_RATIO, configurable: true });
  return () => Object.defineProperty(globalThis, "devicePixelRatio", screen);
}

export function printing(lens) {
  const { root, asked } = lens;
  let undo = [];
  addEventListener("beforeprint", () => {
    for (const one of document.querySelectorAll("details:not([open])")) {
      one.open = true;
      undo.push(() => (one.open = false));
    }
    root.style.width = `${WIDTH_PX}px`;
    undo.push(() => root.style.removeProperty("width"), pretendRatio());
    lens.setTheme("light");
    layOut(lens);
  });
  // Between two listeners Bokeh takes over the colours.
  addEventListener("beforeprint", () => {
    paint(lens);
    for (const view of plotsOf(lens)) {
      const copy = copied(view, lens.chrome.plot);
      const { style } = view.canvas_view.primary.canvas;
      style.visibility = "hidden";
      undo.push(() => copy.remove(), () => (style.visibility = ""));
    }
  });
  addEventListener("afterprint", () => {
    for (const one of undo) one();
    undo = [];
    lens.setTheme(asked);
    layOut(lens);
  });
}

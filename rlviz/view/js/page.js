// A static page: everything lies in it already.

import { answersOf, unpackedOf } from "./held.js";
import { threadsOf } from "./heldthreads.js";
import { openLens } from "./lens.js";
import { printing } from "./print.js";
import { ambientTheme, paintRoot, watchTheme } from "./theme.js";

function read(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

const root = document.getElementById("rlviz-chart");
const facts = read("rlviz-facts");
const asked = root.dataset.asked;
// The page around the chart takes the same colours.
const paintPage = () => paintRoot(document.body, facts, asked === "auto" ? ambientTheme() : asked);
paintPage();
watchTheme(paintPage);
addEventListener("beforeprint", () => paintRoot(document.body, facts, "light"));
addEventListener("afterprint", paintPage);

// In a frame: whoever made it cannot look inside, and must know how high the chart is.
function tellHeight() {
  if (parent === globalThis) return;
  const tell = () => {
    const { marginTop, marginBottom } = getComputedStyle(document.body);
    const margins = Number.parseFloat(marginTop) + Number.parseFloat(marginBottom);
    parent.postMessage({ rlvizHeight: Math.ceil(document.body.offsetHeight + margins) }, "*");
  };
  new ResizeObserver(tell).observe(document.body);
}

// Rows that the page holds the threads of, all of them open: they were when it was saved.
function connectThreads(lens) {
  const held = document.getElementById("rlviz-threads");
  if (held === null || globalThis.DecompressionStream === undefined) return;
  const source = threadsOf(JSON.parse(held.textContent));
  for (const { row, label } of lens.facts.rows) if (source.rows.includes(row)) lens.threads.wanted.add(label);
  lens.threads.connect(source);
}

async function open() {
  const { lens, ready } = openLens(globalThis.Bokeh, root, read("rlviz-item"), facts, asked);
  await ready;
  tellHeight();
  printing(lens, root.dataset.paper);
  connectThreads(lens);
  const held = document.getElementById("rlviz-held");
  if (held === null) return;
  if (globalThis.DecompressionStream === undefined) {
    lens.chrome.tell("This browser cannot unpack the detail of this page: it has no DecompressionStream.");
    return;
  }
  const packed = JSON.parse(held.textContent);
  const unpacked = await unpackedOf(packed);
  const connect = () => lens.detail.connect(answersOf(packed, unpacked, (row) => lens.alignment.shiftOf(row)));
  lens.alignment.changed = connect;
  connect();
}

open().catch((error) => {
  root.textContent = `The chart could not be drawn: ${error.message}`;
  throw error;
});

// A static page: everything lies in it already.

import { openLens } from "./lens.js";
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

openLens(globalThis.Bokeh, root, read("rlviz-item"), facts, asked).ready.catch((error) => {
  root.textContent = `The chart could not be drawn: ${error.message}`;
  throw error;
});

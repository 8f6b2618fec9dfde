// What a chart says to who does not see it, and how it is reached without a pointer.

import { KEYS } from "./toolbar.js";

let described = 0;

export function describe(root, { plot, title }, facts) {
  root.setAttribute("role", "region");
  root.setAttribute("aria-label", `timeline: ${facts.title}`);
  const keys = document.createElement("p");
  // Several charts, of several lenses, may stand in a notebook.
  keys.id = `rlviz-keys-${described++}-${Math.random().toString(36).slice(2)}`;
  keys.textContent = `Keys: ${KEYS}`;
  keys.hidden = true;
  root.append(keys);
  root.setAttribute("aria-describedby", keys.id);
  title.setAttribute("role", "heading");
  title.setAttribute("aria-level", facts.toolbar ? "1" : "2");
  plot.setAttribute("role", "img");
  plot.setAttribute("aria-label", facts.description);
}

// Bokeh's own places for the focus: they do nothing, and do not show that they have it.
export function passOver({ doc, views }) {
  for (const plot of ["main", "overview"].map((name) => doc.get_model_by_name(name))) {
    if (plot !== null) views.find_one(plot).canvas_view.events_el.removeAttribute("tabindex");
  }
}

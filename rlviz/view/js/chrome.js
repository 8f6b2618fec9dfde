// Everything of the chart that is HTML: title, legend, caption, findings, pool names.

import { foldNumbers } from "./numbers.js";
import { listRemarks } from "./remarks.js";
import { foldTrust } from "./trust.js";

export function element(tag, name, text = "") {
  const made = document.createElement(tag);
  if (name) made.className = `rlviz-${name}`;
  if (text) made.textContent = text;
  return made;
}

export function button(text, title, pressed) {
  const made = element("button", "button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", pressed);
  return made;
}

function legendItems(entries, names) {
  return entries.map(({ kind, color, name, label = names[name] }) => {
    const item = element("li", "");
    item.title = label;
    const swatch = element("span", `swatch rlviz-swatch-${kind}`);
    if (color) swatch.style.setProperty("--rlviz-swatch", color);
    item.append(swatch, element("span", "label", label));
    return item;
  });
}

export class Chrome {
  constructor(root, facts) {
    this.facts = facts;
    root.replaceChildren();
    root.style.setProperty("--rlviz-left", `${facts.left_px}px`);
    root.style.setProperty("--rlviz-right", `${facts.right_px}px`);
    const head = (this.head = element("div", "head"));
    this.title = element("div", "title", facts.title);
    if (facts.simulated) this.title.append(element("span", "tag", "SIMULATED"));
    head.append(this.title);
    this.toolbar = element("div", "controls");
    this.status = element("div", "status");
    this.status.setAttribute("role", "status");
    this.plot = element("div", "plot");
    this.base = element("div", "base");
    root.append(head);
    if (facts.subtitle) root.append(element("div", "subtitle", facts.subtitle));
    this.legend = element("ul", "legend");
    if (facts.toolbar) root.append(this.toolbar);
    root.append(this.legend, this.plot, this.status);
    const remarks = listRemarks(facts, (remark) => this.went(remark));
    if (remarks !== null) root.append(remarks);
    const numbers = foldNumbers(facts);
    if (numbers !== null) root.append(numbers);
    const madeUp = facts.simulated ? ["simulated run, no measurement"] : [];
    const trust = foldTrust(facts, madeUp);
    // What a caption says of clock and reports, the line of trust says too.
    const caption = trust === null ? [facts.caption, ...madeUp].filter(Boolean).join(" · ") : "";
    if (trust !== null) root.append(trust);
    if (caption) root.append(element("div", "caption", caption));
    for (const note of facts.notes) root.append(element("div", "note", note));
  }

  // What the colours mean now.
  tellColors(mode) {
    this.legend.replaceChildren(...legendItems(this.facts.coloring[mode].legend, this.facts.names));
  }

  // Beside the frame: pool names, and the base that the axis's ticks add to.
  place(frame) {
    const { row_px: rowPx } = this.facts;
    this.plot.style.position = "relative";
    for (const { name, top, bottom } of this.facts.pools) {
      const label = element("div", "pool", name);
      label.style.top = `${frame.top + top * rowPx}px`;
      label.style.height = `${(bottom - top) * rowPx}px`;
      label.style.color = `var(--rlviz-${name === "other" ? "muted" : name})`;
      this.plot.append(label);
      // A pool of a row or two may be lower than its name is long.
      const size = [13, 11, 9].find((px) => {
        label.style.fontSize = `${px}px`;
        return label.scrollHeight <= label.clientHeight;
      });
      if (size === undefined) label.remove();
    }
    this.base.style.top = `${frame.bottom + 7}px`;
    this.base.style.width = `${this.facts.left_px - 32}px`;
    this.plot.append(this.base);
  }

  tell(text) {
    this.status.textContent = text;
  }
}

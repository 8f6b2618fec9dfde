// Everything of the chart that is HTML: title, legend, caption, findings, pool names.

import { element } from "./element.js";
import { foldNumbers } from "./numbers.js";
import { listRemarks } from "./remarks.js";
import { foldTrust } from "./trust.js";

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

// Two lines, as the style sheet has them.
const HEADING_PX = 32;

// What stands over the rows of a run, where there are several: on two lines at most, and of what does
// not fit the last parts are left out. All of it is its title.
class Heading {
  constructor(plot, frame, bottom, text) {
    this.box = element("div", "heading");
    this.box.style.setProperty("--rlviz-frame", `${frame.left}px`);
    this.box.style.top = `${frame.top + bottom - HEADING_PX}px`;
    this.words = element("span", "");
    this.box.append(this.words);
    plot.append(this.box);
    this.tell(text);
  }

  tell(text) {
    this.text = this.box.title = text;
    this.fit();
  }

  fit() {
    const parts = this.text.split(" · ");
    for (let length = parts.length; length > 0; length--) {
      const left = length < parts.length ? ["…"] : [];
      this.words.textContent = [...parts.slice(0, length), ...left].join(" · ");
      if (this.words.scrollHeight <= this.box.clientHeight) return;
    }
  }
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
    this.subtitle = element("div", "subtitle", facts.subtitle);
    if (facts.subtitle) root.append(this.subtitle);
    this.legend = element("ul", "legend");
    if (facts.toolbar) root.append(this.toolbar);
    this.aligned = element("div", "caption");
    root.append(this.legend, this.plot, ...(facts.alignments.length > 0 ? [this.aligned] : []), this.status);
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
    this.mode = mode;
    const entries = [...this.facts.coloring[mode].legend, ...(this.more ?? [])];
    this.legend.replaceChildren(...legendItems(entries, this.facts.names));
  }

  // What the legend explains beside them.
  also(entries) {
    this.more = entries;
    this.tellColors(this.mode);
  }

  // Beside the frame: pool names, and the base that the axis's ticks add to.
  place(frame) {
    const { facts } = this;
    const { row_px: rowPx } = facts;
    this.plot.style.position = "relative";
    for (const { name, top, bottom } of facts.pools) {
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
    this.headings = facts.headings.map(({ y, text }) => new Heading(this.plot, frame, y * rowPx, text));
    this.base.style.top = `${frame.bottom + 7}px`;
    this.base.style.width = `${facts.left_px - 32}px`;
    this.plot.append(this.base);
  }

  // Of runs that are compared: what is said of an iteration that all have begin at second 0.
  retell({ told, subtitle, description, headings }) {
    this.aligned.textContent = told;
    this.subtitle.textContent = subtitle;
    this.plot.setAttribute("aria-label", description);
    headings.forEach((text, i) => this.headings[i].tell(text));
  }

  // When the chart may have become wider or narrower.
  resized(width) {
    if (width === this.width) return;
    this.width = width;
    for (const heading of this.headings) heading.fit();
  }

  tell(text) {
    this.status.textContent = text;
  }
}

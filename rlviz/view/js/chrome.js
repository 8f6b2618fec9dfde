// Everything of the chart that is HTML: title, legend, controls, caption, pool names.

function element(tag, name, text = "") {
  const made = document.createElement(tag);
  if (name) made.className = `rlviz-${name}`;
  if (text) made.textContent = text;
  return made;
}

function button(text, title, pressed) {
  const made = element("button", "button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", pressed);
  return made;
}

function legend(facts) {
  const list = element("ul", "legend");
  for (const { kind, color, label } of facts.legend) {
    const item = element("li", "");
    const swatch = element("span", `swatch rlviz-swatch-${kind}`);
    if (color) swatch.style.setProperty("--rlviz-swatch", color);
    item.append(swatch, label);
    list.append(item);
  }
  return list;
}

// Buttons for the domains that are off until asked for.
function domains(facts, marks, lens) {
  const made = marks.offered.map((code) => {
    const chip = button(facts.names[code], "NVTX domain: show or hide its ranges", () => {
      const shown = chip.getAttribute("aria-pressed") !== "true";
      chip.setAttribute("aria-pressed", String(shown));
      lens.showDomain(code, shown);
    });
    chip.classList.add("rlviz-chip");
    chip.setAttribute("aria-pressed", "false");
    return chip;
  });
  if (made.length > 0) made.unshift(element("span", "hint", "ranges of"));
  return made;
}

export class Chrome {
  constructor(root, facts) {
    this.facts = facts;
    root.replaceChildren();
    root.style.setProperty("--rlviz-left", `${facts.left_px}px`);
    root.style.setProperty("--rlviz-right", `${facts.right_px}px`);
    const head = element("div", "head");
    const title = element("div", "title", facts.title);
    if (facts.simulated) title.append(element("span", "tag", "SIMULATED"));
    this.controls = element("div", "controls");
    head.append(title, this.controls);
    this.status = element("div", "status");
    this.status.setAttribute("role", "status");
    this.plot = element("div", "plot");
    this.base = element("div", "base");
    root.append(head);
    if (facts.subtitle) root.append(element("div", "subtitle", facts.subtitle));
    this.legend = legend(facts);
    root.append(this.legend, this.plot, this.status);
    const caption = facts.simulated
      ? [facts.caption, "simulated run, no measurement"].filter(Boolean).join(" · ")
      : facts.caption;
    if (caption) root.append(element("div", "caption", caption));
    for (const note of facts.notes) root.append(element("div", "note", note));
  }

  connect(lens, marks) {
    if (this.facts.iterations.length > 0) {
      this.controls.append(
        button("◀", "previous iteration  [", () => lens.stepIteration(-1)),
        (this.iteration = element("span", "hint")),
        button("▶", "next iteration  ]", () => lens.stepIteration(1)),
      );
    }
    this.controls.append(button("reset", "first view (double click)", () => lens.reset()));
    this.controls.title = "wheel or W S: zoom · drag or A D: move";
    const chips = domains(this.facts, marks, lens);
    if (chips.length > 0) {
      const item = element("li", "");
      item.append(...chips);
      this.legend.append(item);
    }
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

  tellIteration(number) {
    if (this.iteration) this.iteration.textContent = number === null ? "all" : `iteration ${number}`;
  }

  tell(text) {
    this.status.textContent = text;
  }
}

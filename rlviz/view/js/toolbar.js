// The page's own controls. In a notebook ipywidgets stand in their place.

import { button, element } from "./element.js";

const COLOR_BY = { phase: "phase", kind: "kind of work", kernel: "kernel" };
export const KEYS =
  "wheel or W S: zoom · drag or A D: move · Shift and drag, or m and drag: measure · [ ]: iterations · " +
  "/: search · n N: next and previous match · click a range: its kernels · k: kernels of the window · " +
  "Escape: take both away · 0 or double click: first view";

function choice(label, entries, chosen) {
  const made = element("select", "select");
  made.setAttribute("aria-label", label);
  made.title = label;
  for (const [value, text] of entries) made.append(new Option(text, value));
  made.addEventListener("change", () => chosen(made.value));
  return made;
}

function group(label, ...parts) {
  const made = element("div", "group");
  made.setAttribute("role", "group");
  made.setAttribute("aria-label", label);
  made.append(...parts);
  return made;
}

function chip(text, title, pressed, toggled) {
  const made = button(text, title, () => toggled(made.getAttribute("aria-pressed") !== "true"));
  made.classList.add("rlviz-chip");
  made.setAttribute("aria-pressed", String(pressed));
  return made;
}

// What asks for numbers: here also in a notebook, where each view measures for itself.
export function askingOf({ measure, kernels }) {
  const made = chip("measure", "drag to measure, until switched off  m; or drag with Shift", false, (on) =>
    measure.arm(on),
  );
  measure.watchers.add((armed) => made.setAttribute("aria-pressed", String(armed)));
  return group("numbers", made, button("kernels", "kernels of this window  k", () => kernels.ofWindow()));
}

export class Toolbar {
  constructor(lens, place) {
    this.lens = lens;
    this.controls = lens.controls;
    const { facts } = lens;
    place.setAttribute("role", "toolbar");
    place.setAttribute("aria-label", "controls of the timeline");
    const known = facts.alignments.length > 0 ? facts.alignments.map(({ iteration }) => iteration) : facts.iterations;
    if (known.length > 0) place.append(this.iterations(known));
    place.append(this.searching(), this.colors(), ...this.rows(facts), ...this.domains(facts));
    place.append(askingOf(lens));
    place.append(group("view", button("reset", "first view, all rows, no search", () => this.controls.reset()), this.help()));
    place.append(this.keys);
    this.controls.watchers.add(() => this.follow());
    this.follow();
  }

  iterations(known) {
    const entries = known.map(([number, , , partial]) => [
      String(number), `iteration ${number}${partial ? " (partial)" : ""}`,
    ]);
    const elsewhere = new Option("–", "");
    elsewhere.hidden = true;
    this.picker = choice("iteration", [["all", "all iterations"], ...entries], (value) =>
      value === "all" ? this.lens.zoom(...this.lens.whole) : this.lens.showIteration(Number(value)),
    );
    this.picker.append(elsewhere);
    return group(
      "iterations",
      button("◀", "previous iteration  [", () => this.lens.stepIteration(-1)),
      this.picker,
      button("▶", "next iteration  ]", () => this.lens.stepIteration(1)),
    );
  }

  searching() {
    this.box = element("input", "search");
    this.box.type = "search";
    this.box.placeholder = "search names";
    this.box.title = "names of ranges and kernels  /";
    this.box.setAttribute("aria-label", "search names of ranges and kernels");
    this.box.addEventListener("input", () => this.controls.choose({ search: this.box.value }));
    this.box.addEventListener("keydown", (event) => this.typed(event));
    this.count = element("span", "hint");
    this.count.setAttribute("role", "status");
    const step = (text, label, by) => {
      const made = button(text, label, () => this.controls.stepMatch(by));
      made.setAttribute("aria-label", label.split("  ")[0]);
      return made;
    };
    this.steps = [step("‹", "previous match  N", -1), step("›", "next match  n", 1)];
    return group("search", this.box, ...this.steps, this.count);
  }

  typed(event) {
    if (event.key === "Enter") {
      this.controls.stepMatch(event.shiftKey ? -1 : 1);
    } else if (event.key === "Escape") {
      this.controls.choose({ search: "" });
      this.lens.root.focus({ preventScroll: true });
    } else {
      return;
    }
    event.preventDefault();
  }

  colors() {
    this.colorBy = choice("colour by", Object.entries(COLOR_BY), (value) =>
      this.controls.choose({ color_by: value }),
    );
    return group("colours", element("span", "hint", "colour by"), this.colorBy);
  }

  rows({ roles }) {
    if (roles.length < 2) return [];
    this.roles = roles.map((role) =>
      chip(role, "show or hide the rows of this role", true, (shown) => {
        const others = this.controls.choices.hidden_roles.filter((one) => one !== role);
        this.controls.choose({ hidden_roles: shown ? others : [...others, role] });
      }),
    );
    return [group("rows by role", element("span", "hint", "rows of"), ...this.roles)];
  }

  domains({ domains, names }) {
    if (domains.length === 0) return [];
    this.chips = domains.map(({ code }) =>
      chip(names[code], "NVTX domain: show or hide its ranges", false, (shown) => {
        const others = this.controls.choices.domains.filter((one) => one !== code);
        this.controls.choose({ domains: shown ? [...others, code] : others });
      }),
    );
    return [group("ranges by NVTX domain", element("span", "hint", "ranges of"), ...this.chips)];
  }

  help() {
    this.keys = element("div", "hint", KEYS);
    this.keys.hidden = true;
    const made = button("keys", KEYS, () => {
      this.keys.hidden = !this.keys.hidden;
      made.setAttribute("aria-expanded", String(!this.keys.hidden));
    });
    made.setAttribute("aria-expanded", "false");
    return made;
  }

  follow() {
    const { choices, counted, search } = this.controls;
    const { facts } = this.lens;
    if (this.box.value !== choices.search) this.box.value = choices.search;
    this.count.textContent = counted;
    for (const one of this.steps) one.disabled = search.places.length === 0;
    this.colorBy.value = choices.color_by;
    this.roles?.forEach((one, i) =>
      one.setAttribute("aria-pressed", String(!choices.hidden_roles.includes(facts.roles[i]))),
    );
    this.chips?.forEach((one, i) =>
      one.setAttribute("aria-pressed", String(choices.domains.includes(facts.domains[i].code))),
    );
  }

  // What the window shows: an iteration, all of it, or another part.
  tellIteration(number, whole) {
    if (this.picker) this.picker.value = number !== null ? String(number) : whole ? "all" : "";
  }

  focus() {
    this.box.focus();
    this.box.select();
  }
}

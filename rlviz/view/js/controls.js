// What a reader has chosen: colours, a search, rows and domains. One state; the page's toolbar, the
// notebook's widgets and the keys all change it here.

import { Coloring } from "./colors.js";
import { element } from "./element.js";
import { Search } from "./search.js";

const FILL = 0.18;
const FADED = { fill_alpha: 0.05, line_alpha: 0.3 };
// A place that is gone to takes this part of the window, unless it already takes about as much.
const ROOM = 0.2;
const WIDE_ENOUGH = 0.01;

export class Controls {
  constructor(lens) {
    const { facts, marks, doc } = lens;
    this.lens = lens;
    this.first = {
      color_by: "phase",
      search: "",
      hidden_roles: [],
      domains: facts.domains.filter(({ shown }) => shown).map(({ code }) => code),
    };
    this.choices = { ...this.first };
    this.coloring = new Coloring(facts, marks.bars);
    this.search = new Search(facts, marks);
    lens.labels.search = this.search;
    this.ranges = lens.main.renderers.find((one) => one.data_source.name === "overlays").glyph;
    this.matches = doc.get_model_by_name("matches");
    this.place = doc.get_model_by_name("place");
    this.watchers = new Set();
    this.veils = [];
    marks.changed = () => this.outline();
    this.apply();
  }

  choose(changes) {
    Object.assign(this.choices, changes);
    this.point(null);
    this.apply();
  }

  // Where everything stands now is another place in time.
  realigned() {
    this.search.forget();
    this.point(null);
    this.apply();
  }

  reset() {
    this.choose({ ...this.first });
    this.lens.home();
  }

  apply() {
    const { lens } = this;
    const { facts, marks } = lens;
    const { hidden_roles: hidden, domains, search } = this.choices;
    const rows = facts.rows.filter(({ role }) => hidden.includes(role));
    marks.choose(
      new Set(facts.domains.map(({ code }) => code).filter((code) => !domains.includes(code))),
      new Set(rows.map(({ row }) => row)),
    );
    this.search.find(search);
    this.seek();
    this.outline();
    this.veil(rows);
    this.paint();
    lens.relabel();
    this.tell();
  }

  // Most names of a run stand in no mark of the first view.
  seek() {
    this.search.seek(this.lens.detail?.source, () => this.tell());
  }

  // Again when the theme changes.
  paint() {
    const { lens, search } = this;
    const { color_by: mode } = this.choices;
    const hit = search.active ? (name) => search.hit(name) : null;
    const ground = lens.facts.surface[lens.theme].band;
    this.coloring.use(mode, hit, lens.marks.hiddenRows, ground);
    // Only by phase are ranges and bars coloured by the same rule.
    const bright = { fill_alpha: mode === "phase" ? FILL : 0, line_alpha: 1 };
    this.ranges.setv(search.active ? { ...FADED, fill_alpha: mode === "phase" ? 0.05 : 0 } : bright);
    lens.chrome.tellColors(mode);
    // Other colours, rows or names may need other detail.
    lens.detail?.moved();
    lens.repaintBars();
  }

  // Ranges that are drawn and found, whatever detail they come from.
  outline() {
    const found = { left: [], right: [], top: [], bottom: [] };
    if (this.search.active) {
      const { overlays } = this.lens.marks;
      for (let i = 0; i < overlays.left.length; i++) {
        if (!this.search.hit(overlays.name[i])) continue;
        for (const [key, column] of Object.entries(found)) column.push(overlays[key][i]);
      }
    } else if (this.matches.get_length() === 0) {
      return;
    }
    this.matches.data = found;
  }

  // Rows keep their places, so that no label moves: what hides is greyed out.
  veil(rows) {
    for (const veil of this.veils) veil.remove();
    const { frame, facts, chrome } = this.lens;
    this.veils = rows.map(({ top, bottom }) => {
      const veil = element("div", "veil");
      veil.style.top = `${frame.top + top * facts.row_px}px`;
      veil.style.height = `${(bottom - top) * facts.row_px}px`;
      chrome.plot.append(veil);
      return veil;
    });
  }

  stepMatch(by) {
    const found = this.search.step(by, this.lens.window[0]);
    if (found === null) return;
    this.visit(found);
    this.tell();
  }

  // Bring a place into the middle, no larger and no smaller than one can read.
  visit({ left, right, top, bottom }) {
    const [start, end] = this.lens.window;
    const share = (right - left) / (end - start);
    const fits = share >= WIDE_ENOUGH && share <= 1 - ROOM;
    const span = fits || right <= left ? end - start : (right - left) / (share > 1 ? 1 - ROOM : ROOM);
    const middle = (left + right) / 2;
    this.lens.zoom(middle - span / 2, middle + span / 2);
    this.point({ left, right, top, bottom });
  }

  // Outline a place and scroll to it; null takes the outline away.
  point(place) {
    const columns = { left: [], right: [], top: [], bottom: [] };
    if (place !== null) for (const key of Object.keys(columns)) columns[key] = [place[key]];
    else if (this.place.get_length() === 0) return;
    this.place.data = columns;
    if (place === null) return;
    const { frame, facts, chrome } = this.lens;
    const spot = element("div", "spot");
    spot.style.top = `${frame.top + place.top * facts.row_px}px`;
    spot.style.height = `${(place.bottom - place.top) * facts.row_px}px`;
    chrome.plot.append(spot);
    spot.scrollIntoView({ block: "nearest" });
    spot.remove();
  }

  // "3 of 17", once a search has found something.
  get counted() {
    const { active, places, cursor } = this.search;
    if (!active) return "";
    if (places.length === 0) return "none";
    return `${cursor < 0 ? "" : `${cursor + 1} of `}${places.length}`;
  }

  tell() {
    for (const watcher of this.watchers) watcher(this);
  }
}

// The kernels of a range or of the window, in a table below the chart. Names are text, whatever
// they say.

import { button, element } from "./element.js";
import { named, placeOf, seenOf } from "./measure.js";
import { clock, duration, grouped, percent } from "./units.js";

const STILL_PX = 4;
const NEAR_PX = 3;
// Until then the page does not move: the second click of two would fall elsewhere.
const DOUBLE_CLICK_MS = 450;
const SHARE_TITLE =
  "of the summed time of all kernels in the table; kernels of several streams overlap, so their " +
  "sum can be more than the busy time";
const RULE =
  "Every kernel that ran there and then counts, whoever launched it; of one that reaches over a " +
  "limit the part inside counts.";

function cells(line, tag, texts) {
  texts.forEach((text, i) => {
    const cell = element(tag, i > 0 ? "number" : "", text);
    if (tag === "th") cell.scope = "col";
    line.append(cell);
  });
}

function tableOf({ kernels, names, count, total }) {
  const table = document.createElement("table");
  cells(table.createTHead().insertRow(), "th", ["kernel", "count", "total", "share of summed kernel time"]);
  table.tHead.rows[0].lastElementChild.title = SHARE_TITLE;
  const body = table.createTBody();
  const add = (name, many, seconds) =>
    cells(body.insertRow(), "td", [name, grouped(many), duration(seconds), percent(total > 0 ? seconds / total : 0)]);
  for (const kernel of kernels) add(...kernel);
  const shown = (place) => kernels.reduce((sum, kernel) => sum + kernel[place], 0);
  const more = names - kernels.length;
  if (more > 0) {
    add(`${grouped(more)} more ${more === 1 ? "name" : "names"}`, count - shown(1), Math.max(total - shown(2), 0));
  }
  return table;
}

export class KernelTable {
  constructor(lens) {
    this.lens = lens;
    this.turn = 0;
    this.box = element("section", "kernels");
    this.box.setAttribute("aria-label", "kernels");
    this.box.tabIndex = 0;
    this.box.hidden = true;
    this.head = element("div", "kernels-head");
    this.title = element("b", "");
    this.title.setAttribute("aria-live", "polite");
    this.head.append(this.title, button("close", "close the table of kernels  Escape", () => this.close()));
    this.told = element("div", "hint");
    this.told.setAttribute("aria-live", "polite");
    this.body = element("div", "kernels-scroll");
    this.box.append(this.head, this.told, this.body);
    lens.chrome.status.after(this.box);
    const { plot } = lens.chrome;
    plot.addEventListener("pointerdown", (event) => (this.pressed = event), true);
    plot.addEventListener("click", (event) => this.clicked(event));
    // Its two clicks were for something else.
    plot.addEventListener("dblclick", () => (this.before ? this.close() : null));
  }

  clicked(event) {
    const { pressed, lens } = this;
    const moved = Math.hypot(event.clientX - pressed?.clientX, event.clientY - pressed?.clientY);
    if (!(moved < STILL_PX) || event.shiftKey || lens.measure.armed) return;
    const { at, units, row, inside } = placeOf(lens, event);
    if (!inside || row === undefined) return;
    const [start, end] = lens.window;
    const i = lens.marks.rangeAt(row.row, at, units, (NEAR_PX * (end - start)) / lens.frame.width);
    if (i < 0) return;
    if (event.detail < 2) this.before = this.box.hidden;
    this.ofRange(i, row);
  }

  ofRange(i, { row, label, host, group }) {
    const { left, right, top, bottom, name, count } = this.lens.marks.overlays;
    const what = count[i] > 1 ? `${grouped(count[i])} ranges` : this.lens.facts.names[name[i]];
    const where = [named(group, label), host].filter(Boolean).join(" · ");
    this.show(`Kernels on this GPU during ${count[i] > 1 ? "" : "the range "}${what}`, where, left[i], right[i], [row]);
    this.lens.controls.point({ left: left[i], right: right[i], top: top[i], bottom: bottom[i] });
    this.pointed = true;
  }

  ofWindow() {
    const { facts, marks, window: [start, end] } = this.lens;
    const seen = facts.rows.map(({ row }) => row).filter((row) => !marks.hiddenRows.has(row));
    const all = seen.length === facts.rows.length;
    const where = all ? "all rows" : `${seen.length} of ${facts.rows.length} rows`;
    this.unpoint();
    this.show("Kernels of this window", where, start, end, all ? null : seen);
  }

  // What was clicked is outlined as long as the table is of it.
  unpoint() {
    if (this.pointed) this.lens.controls.point(null);
    this.pointed = false;
  }

  async show(title, where, start, end, rows) {
    const turn = ++this.turn;
    const length = end - start;
    const { facts, detail } = this.lens;
    const place = [where, `${clock(start, length)} to ${clock(end, length)}`, duration(length)];
    const asked = facts.rows.filter(({ row }) => rows === null || rows.includes(row));
    const seen = seenOf(facts, asked, start, end);
    if (seen.captured < seen.all * (1 - 1e-6)) place.push("partly not captured");
    const blind = asked.length - seen.known.length;
    if (blind > 0) place.push(blind === 1 ? "1 row without GPU data" : `${blind} rows without GPU data`);
    this.title.textContent = title;
    this.told.textContent = place.join(" · ");
    this.body.replaceChildren();
    this.box.hidden = false;
    try {
      if (seen.known.length === 0) throw new Error("no GPU data");
      if (length > 0 && seen.captured === 0) throw new Error("not captured");
      if (detail.source?.kernels === undefined) throw new Error("this chart holds no single events");
      const found = await detail.source.kernels({ start, end, rows });
      if (turn !== this.turn || this.lens.gone) return;
      this.fill(found, place);
    } catch (error) {
      if (turn !== this.turn || this.lens.gone) return;
      this.body.replaceChildren(element("div", "", `Its kernels are unknown: ${error.message}.`));
    }
    setTimeout(() => {
      if (turn === this.turn) this.box.scrollIntoView({ block: "nearest" });
    }, DOUBLE_CLICK_MS);
  }

  fill(found, place) {
    if (found.count === 0) {
      this.body.replaceChildren(element("div", "", "No kernel ran there and then."));
      return;
    }
    const many = found.count === 1 ? "1 kernel" : `${grouped(found.count)} kernels`;
    this.told.textContent = [...place, `${many}, ${duration(found.total)} summed`].join(" · ");
    this.body.replaceChildren(tableOf(found), element("div", "hint", RULE));
  }

  // Whether there was something to close.
  close() {
    const was = !this.box.hidden;
    this.turn++;
    if (this.box.contains(document.activeElement)) this.lens.root.focus({ preventScroll: true });
    this.box.hidden = true;
    this.unpoint();
    return was;
  }
}

// What lies under the pointer, told in a box of text. Nothing here is ever parsed as HTML.

import { element } from "./element.js";
import { absolute, clock, duration, grouped, percent } from "./units.js";

const SLACK_PX = 3;
const SHADES = {
  not_captured: "not captured: this report's window does not reach here",
  edge: "profiler edge: idle time here counts neither as busy nor as bubble",
  no_gpu_data: "no GPU data in this report: busy time is unknown",
  reading: "its GPU rows are being read",
};

export function line(box, kind, ...texts) {
  const told = texts.filter((text) => text !== "" && text !== null && text !== undefined);
  if (told.length > 0) box.append(element("div", `tip-${kind}`, told.join(" · ")));
}

export class Hover {
  constructor(facts, marks, root) {
    this.facts = facts;
    this.marks = marks;
    this.root = root;
    this.zero = facts.utc === null ? null : BigInt(facts.utc);
    this.box = element("div", "tip");
    this.box.setAttribute("role", "tooltip");
    this.box.hidden = true;
    // On the body: an output area of a notebook would cut it off or grow scroll bars.
    document.body.append(this.box);
  }

  // Told again: more is known of what the pointer is on.
  again() {
    if (!this.box.hidden) this.show(...this.pointed);
  }

  hide() {
    this.box.hidden = true;
    this.detail?.explainer.rest(null);
  }

  remove() {
    this.box.remove();
  }

  // `at` in seconds, NaN left of the frame; `y` in row units; `scale` in pixels a second.
  show(at, y, scale, clientX, clientY) {
    this.pointed = [at, y, scale, clientX, clientY];
    const row = this.facts.rows.find(({ top, bottom }) => top <= y && y <= bottom);
    this.box.replaceChildren();
    if (row !== undefined) this.fill(row, at, y, SLACK_PX / scale);
    else this.threads?.tell(this.box, at, y, SLACK_PX / scale);
    this.box.hidden = this.box.childElementCount === 0;
    if (!this.box.hidden) this.place(clientX, clientY);
  }

  fill(row, at, y, slack) {
    if (Number.isNaN(at)) {
      this.tellRow(row);
      return;
    }
    const range = this.marks.rangeAt(row.row, at, y, slack);
    // Undefined where no detail was asked for.
    const seen = this.detail?.at(row.row, at, slack);
    const bar = seen === undefined ? this.marks.bar(this.marks.barAt(row.row, at, slack)) : seen;
    this.detail?.explainer.rest(bar?.summed ? bar : null);
    const shade = this.facts.shades.find(
      (one) => one.row === row.row && one.left <= at && at <= one.right,
    );
    if (range < 0 && bar === null && shade === undefined) return;
    if (range >= 0) this.tellRange(range);
    if (bar !== null) this.tellBar(bar);
    if (shade !== undefined) line(this.box, "more", SHADES[shade.kind]);
    line(this.box, "row", row.label, row.host, this.iterationAt(at));
    line(this.box, "more", row.details.GPU ?? "");
  }

  tellRange(i) {
    const { left, right, name, domain, thread, count, truncated, parent_share: share } =
      this.marks.overlays;
    const { names } = this.facts;
    line(this.box, "name", names[name[i]]);
    if (count[i] > 1) line(this.box, "more", `${grouped(count[i])} ranges merged here`);
    const open = truncated[i] ? "or longer: the capture ended first" : "";
    line(this.box, "time", duration(right[i] - left[i]), open, this.when(left[i], right[i]));
    const part = Number.isNaN(share[i]) ? "" : `${percent(share[i])} of its parent`;
    line(this.box, "more", part, `domain ${names[domain[i]]}`, names[thread[i]]);
  }

  tellBar(bar) {
    if (bar.summed) {
      this.tellBucket(bar);
      return;
    }
    const { left, right, name, color, count, busy_s: busy, name_share: share } = bar;
    const span = right - left;
    const when = [this.facts.colors[color], this.when(left, right)];
    if (count === 1) {
      line(this.box, "name", this.facts.names[name]);
      line(this.box, "time", duration(span), ...when);
      return;
    }
    const busyShare = span > 0 ? percent(Math.min(busy / span, 1)) : "unknown";
    line(this.box, "name", `${grouped(count)} events in this bar, busy share ${busyShare}`);
    line(this.box, "more", `mostly ${this.facts.names[name]} (${percent(share)})`);
    line(this.box, "time", `bar of ${duration(span)}`, ...when);
  }

  // A bucket of detail: what it stands for comes a moment later.
  tellBucket({ left, right, says, busy_share: share, count, ...known }) {
    const span = right - left;
    const busy = known.busy_s === undefined ? share : known.busy_s / span;
    const events = count === undefined ? "sum of events" : count === 1 ? "1 event" : `${grouped(count)} events`;
    line(this.box, "name", `${events} in this bar, busy share ${percent(Math.min(busy, 1))}`);
    if (count !== undefined) {
      const alone = count === 1 ? known.text : `mostly ${known.text} (${percent(known.name_share)})`;
      const longest = count === 1 ? "length" : "longest event";
      line(this.box, "more", alone);
      line(this.box, "more", `${longest} ${duration(known.longest_s)}`, `busy ${duration(known.busy_s)}`);
    }
    line(this.box, "time", `bar of ${duration(span)}`, says, this.when(left, right));
  }

  tellRow(row) {
    line(this.box, "name", row.label);
    line(this.box, "row", row.host, `${row.pool} pool`);
    const busy = row.busy === null ? "unknown" : `${percent(row.busy)} of the captured time`;
    line(this.box, "time", `busy ${busy}`);
    for (const [key, value] of Object.entries(row.details)) line(this.box, "more", `${key}: ${value}`);
  }

  when(left, right) {
    const utc = this.zero === null ? "" : `  (${absolute(this.zero, left)})`;
    return `at ${clock(left, right - left)}${utc}`;
  }

  iterationAt(at) {
    const found = this.facts.iterations.find(([, start, end]) => start <= at && at < end);
    return found === undefined ? "" : `iteration ${found[0]}${found[3] ? " (partial)" : ""}`;
  }

  place(x, y) {
    const { offsetWidth: width, offsetHeight: height } = this.box;
    const right = x + 14 + width > innerWidth ? x - 14 - width : x + 14;
    const below = y + 18 + height > innerHeight ? y - 12 - height : y + 18;
    this.box.style.left = `${Math.max(4, right)}px`;
    this.box.style.top = `${Math.max(4, below)}px`;
  }
}

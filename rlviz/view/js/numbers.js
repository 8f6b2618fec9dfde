// The run's numbers, below the chart: a line that unfolds into tables, an iteration and pool a line.

import { element } from "./element.js";

// A heading of a row or a column.
function head(scope, text, hint = "") {
  const one = element("th", "", text);
  one.scope = scope;
  one.title = hint;
  return one;
}

function numberCell([text, hint], reasons) {
  const unknown = typeof hint === "number";
  const one = element("td", unknown ? "unknown" : "", text);
  one.title = unknown ? reasons[hint] : hint;
  return one;
}

function numberTable({ caption, heads, cells }, { lines, reasons }) {
  const table = document.createElement("table");
  table.append(element("caption", "", caption));
  const top = table.createTHead().insertRow();
  top.append(head("col", "pool"), head("col", "iteration"));
  for (const { text, hint } of heads) top.append(head("col", text, hint));
  let body;
  lines.forEach(({ pool, iteration }, i) => {
    const first = i === 0 || lines[i - 1].pool !== pool;
    if (first) body = table.createTBody();
    const line = body.insertRow();
    line.append(element("td", "", first ? pool : ""), head("row", iteration));
    line.append(...cells[i].map((cell) => numberCell(cell, reasons)));
  });
  return table;
}

export function foldNumbers({ numbers }) {
  if (numbers === null) return null;
  const box = element("details", "numbers");
  box.append(element("summary", "", numbers.line));
  for (const table of numbers.tables) {
    const scroll = element("div", "numbers-scroll");
    scroll.tabIndex = 0;
    scroll.setAttribute("role", "group");
    scroll.setAttribute("aria-label", table.caption);
    scroll.append(numberTable(table, numbers));
    box.append(scroll);
  }
  if (numbers.more > 0) box.append(element("p", "", `and ${numbers.more} more lines: run.summary()`));
  return box;
}

// What to trust, below the chart: a line that unfolds into the reports and all that is wrong with
// them. Texts of a report are text, whatever they say.

import { element } from "./element.js";

function trustTable({ heads, reports }) {
  const table = element("table", "trust-reports");
  const head = table.createTHead().insertRow();
  for (const { text, number } of heads) head.append(element("th", number ? "number" : "", text));
  const body = table.createTBody();
  for (const cells of reports) {
    const line = body.insertRow();
    cells.forEach((text, i) => line.append(element("td", heads[i].number ? "number" : "", text)));
  }
  return table;
}

function troubleItems(troubles) {
  const list = element("ul", "trust-troubles");
  for (const { severity, kind, reports, message } of troubles) {
    const item = element("li", `trust-${severity}`);
    item.append(element("b", "", severity === "info" ? "note" : severity), ` ${kind} (${reports}): ${message}`);
    list.append(item);
  }
  return list;
}

// `more` stands at the end of the line.
export function foldTrust({ trust }, more) {
  if (trust === null) return null;
  const box = element("details", "trust");
  box.append(element("summary", "", [trust.line, ...more].join(" · ")));
  const scroll = element("div", "trust-scroll");
  scroll.append(trustTable(trust));
  box.append(scroll);
  if (trust.more_reports > 0) box.append(element("p", "", `and ${trust.more_reports} more: run.reports`));
  if (trust.troubles.length > 0) box.append(troubleItems(trust.troubles));
  if (trust.more_troubles > 0) {
    box.append(element("p", "", `and ${trust.more_troubles} more: run.diagnostics`));
  }
  return box;
}

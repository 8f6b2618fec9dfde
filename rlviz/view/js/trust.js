// What to trust, below the chart: a line that unfolds into the reports and all that is wrong with
// them. Texts of a report are text, whatever they say.

export function trustPart(tag, name = "", text = "") {
  const one = document.createElement(tag);
  if (name) one.className = `rlviz-${name}`;
  one.textContent = text;
  return one;
}

function trustTable({ heads, reports }) {
  const table = trustPart("table", "trust-reports");
  const head = table.createTHead().insertRow();
  for (const { text, number } of heads) head.append(trustPart("th", number ? "number" : "", text));
  const body = table.createTBody();
  for (const cells of reports) {
    const line = body.insertRow();
    cells.forEach((text, i) => line.append(trustPart("td", heads[i].number ? "number" : "", text)));
  }
  return table;
}

function troubleItems(troubles) {
  const list = trustPart("ul", "trust-troubles");
  for (const { severity, kind, reports, message } of troubles) {
    const item = trustPart("li", `trust-${severity}`);
    item.append(trustPart("b", "", severity === "info" ? "note" : severity), ` ${kind} (${reports}): ${message}`);
    list.append(item);
  }
  return list;
}

// `more` stands at the end of the line.
export function foldTrust({ trust }, more) {
  if (trust === null) return null;
  const box = trustPart("details", "trust");
  box.append(trustPart("summary", "", [trust.line, ...more].join(" · ")));
  const scroll = trustPart("div", "trust-scroll");
  scroll.append(trustTable(trust));
  box.append(scroll);
  if (trust.more_reports > 0) box.append(trustPart("p", "", `and ${trust.more_reports} more: run.reports`));
  if (trust.troubles.length > 0) box.append(troubleItems(trust.troubles));
  if (trust.more_troubles > 0) {
    box.append(trustPart("p", "", `and ${trust.more_troubles} more: run.diagnostics`));
  }
  return box;
}

// Findings below the chart: pressed, one goes to its place. Their text is text, whatever it says.

import { element } from "./element.js";
import { duration } from "./units.js";

const AROUND = 0.15;

export function listRemarks({ remarks }, go) {
  if (remarks.length === 0) return null;
  const box = element("section", "remarks");
  box.setAttribute("aria-label", "findings");
  const list = document.createElement("ol");
  for (const remark of remarks) {
    const item = document.createElement("li");
    const placed = remark.left !== null && remark.right !== null;
    const text = element(placed ? "button" : "span", "remark", remark.text);
    if (placed) {
      text.type = "button";
      text.title = "go to its place";
      text.addEventListener("click", () => go(remark));
    }
    item.append(text);
    if (remark.lost_s !== null) {
      item.append(" ", element("span", "lost", `${duration(remark.lost_s)} lost`));
    }
    list.append(item);
  }
  box.append(list);
  return box;
}

export function goToRemark({ left, right, row }, lens) {
  const margin = (right - left) * AROUND;
  lens.zoom(left - margin, right + margin);
  const place = lens.facts.rows.find((one) => one.row === row);
  lens.controls.point(place === undefined ? null : { left, right, top: place.top, bottom: place.bottom });
}

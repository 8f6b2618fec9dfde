// Elements of the chart that is HTML: whatever stands in them is text.

export function element(tag, name, text = "") {
  const made = document.createElement(tag);
  if (name) made.className = `rlviz-${name}`;
  if (text) made.textContent = text;
  return made;
}

export function button(text, title, pressed) {
  const made = element("button", "button", text);
  made.type = "button";
  made.title = title;
  made.addEventListener("click", pressed);
  return made;
}

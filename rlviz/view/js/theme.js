// Light or dark, as the place where the chart stands is; the chart is recoloured in place.

const THEME_ATTRIBUTES = ["data-jp-theme-light", "data-vscode-theme-kind"];

export function ambientTheme() {
  const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
  if (jpThemeLight !== undefined) return jpThemeLight === "true" ? "light" : "dark";
  if (vscodeThemeKind !== undefined) return vscodeThemeKind.includes("light") ? "light" : "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

// Call `changed` whenever the ambient theme may have changed; returns how to stop.
export function watchTheme(changed) {
  const observer = new MutationObserver(changed);
  observer.observe(document.body, { attributes: true, attributeFilter: THEME_ATTRIBUTES });
  const media = matchMedia("(prefers-color-scheme: dark)");
  media.addEventListener("change", changed);
  return () => {
    observer.disconnect();
    media.removeEventListener("change", changed);
  };
}

export function recolour(doc, facts, theme, root) {
  const surface = facts.surface[theme];
  for (const [id, property, key] of facts.paint) {
    doc.get_model_by_id(id)?.setv({ [property]: surface[key] });
  }
  paintRoot(root, facts, theme);
}

// The part that is HTML takes its colours from custom properties.
export function paintRoot(root, facts, theme) {
  for (const [key, color] of Object.entries(facts.surface[theme])) {
    root.style.setProperty(`--rlviz-${key}`, color);
  }
  root.dataset.theme = theme;
}

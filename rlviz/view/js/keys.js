// W A S D to move and zoom, [ ] for iterations, n N for matches, m to measure, k for kernels, / and
// 0, while the chart has the focus. Escape takes back what m and k brought.

const STEP = 0.2;

function keyAction(key, lens) {
  if (key === "N") return () => lens.controls.stepMatch(-1);
  if (key === "/") return lens.toolbar === null ? null : () => lens.toolbar.focus();
  switch (key.toLowerCase()) {
    case "w":
      return () => lens.zoomBy(1 - STEP);
    case "s":
      return () => lens.zoomBy(1 / (1 - STEP));
    case "a":
      return () => lens.moveBy(-STEP);
    case "d":
      return () => lens.moveBy(STEP);
    case "[":
      return () => lens.stepIteration(-1);
    case "]":
      return () => lens.stepIteration(1);
    case "n":
      return () => lens.controls.stepMatch(1);
    case "m":
      return () => lens.measure.arm(!lens.measure.armed);
    case "k":
      return () => lens.kernels.ofWindow();
    case "escape":
      return () => lens.measure.clear() || lens.kernels.close() || lens.measure.arm(false);
    case "0":
      return () => lens.home();
    default:
      return null;
  }
}

export function listenKeys(root, lens) {
  root.addEventListener("keydown", (event) => {
    // AltGr, with which many keyboards write a bracket, counts as Ctrl and Alt together.
    const shortcut = event.metaKey || event.ctrlKey !== event.altKey;
    const typing = event.target.closest?.("input, select, textarea");
    const action = shortcut || typing ? null : keyAction(event.key, lens);
    if (action === null) return;
    action();
    event.preventDefault();
    event.stopPropagation();
  });
}

// In a cell's output: where scripts may run, the packed page takes the place of the still.
(() => {
  const PATIENCE_MS = 400;
  const root =
    document.currentScript?.parentElement ??
    document.querySelector(".rlviz-still:not([data-rlviz-taken])");
  if (!root || root.dataset.rlvizTaken || !globalThis.DecompressionStream) return;
  root.dataset.rlvizTaken = "";
  const still = root.querySelector("img");
  const packed = root.querySelector(".rlviz-packed").textContent;

  async function unpack() {
    const bytes = Uint8Array.from(atob(packed), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(stream).text();
  }

  // A notebook has a theme of its own, which the system that the page would follow does not know.
  function themed(page) {
    const { jpThemeLight, vscodeThemeKind } = document.body.dataset;
    let theme = "auto";
    if (jpThemeLight !== undefined) theme = jpThemeLight === "true" ? "light" : "dark";
    if (vscodeThemeKind !== undefined) theme = vscodeThemeKind.includes("light") ? "light" : "dark";
    return page.replace('data-asked="auto"', `data-asked="${theme}"`);
  }

  // The still goes when the page has drawn its chart and told how high it is.
  async function open() {
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.title = still.alt;
    frame.style.cssText = "display: block; width: 100%; height: 0; border: 0";
    addEventListener("message", ({ source, data }) => {
      const height = data?.rlvizHeight;
      if (source !== frame.contentWindow || source === null || !Number.isFinite(height)) return;
      frame.style.height = `${Math.min(Math.max(height, 100), 8000)}px`;
      still.style.display = "none";
    });
    frame.srcdoc = themed(await unpack());
    root.append(frame);
  }

  // While the live chart hides the output nothing is unpacked.
  let seen;
  const observer = new IntersectionObserver((entries) => {
    clearTimeout(seen);
    if (!entries.at(-1).isIntersecting) return;
    seen = setTimeout(() => {
      observer.disconnect();
      open().catch((error) => console.warn(`rlviz: the still stays: ${error.message}`));
    }, PATIENCE_MS);
  });
  observer.observe(root);
})();

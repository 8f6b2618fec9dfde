// The widget's module: small, because every widget carries a copy of it. BokehJS, the lens and the
// figure come from the kernel on demand, the first two once a page.

const PATIENCE_MS = 2000;
const TAKE_OVER_MS = 10000;
const SETTLE_MS = 100;

// Each model has its own copy of this module, so what a page shares lies on the page.
const libraries = (globalThis.__rlviz_bokeh ??= new Map());

let views = 0;

async function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

async function importText(text) {
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  try {
    return await import(url);
  } finally {
    URL.revokeObjectURL(url);
  }
}

// BokehJS hangs itself on `this`: a scope of its own leaves the page's Bokeh, if any, alone.
const importers = {
  bokeh: (text) =>
    importText(`const scope = {};\n(function () {${text}\n}).call(scope);\nexport default scope.Bokeh;`),
  lens: importText,
};

function later(milliseconds) {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

// Hides the output that stands in for the chart where this style is, with all of its place in the
// cell. Elsewhere than in JupyterLab there are no output areas to go by.
function hides(still) {
  const style = document.createElement("style");
  style.dataset.rlvizLive = still;
  const live = `[data-rlviz-live="${still}"]`;
  const output = `[data-rlviz-still="${still}"]`;
  style.textContent = `
    .jp-OutputArea:has(${live}) > .jp-OutputArea-child:has(${output}),
    body:not(:has(.jp-OutputArea)):has(${live}) ${output} { display: none; }`;
  return style;
}

class View {
  constructor(model, el) {
    this.model = model;
    this.id = `${Date.now().toString(36)}-${views++}-${Math.random().toString(36).slice(2, 8)}`;
    this.sequence = 0;
    this.asked = new Map();
    this.root = document.createElement("div");
    el.append(this.root);
    this.hiding = hides(model.get("_still"));
    el.append(this.hiding);
    this.receive = (message, buffers) => this.answered(message, buffers);
    this.zoomed = () => this.follow();
    model.on("msg:custom", this.receive);
    model.on("change:_zoom", this.zoomed);
  }

  // Ask the kernel for some parts; resolves with their bytes, in order.
  async ask(...parts) {
    const [, bytes] = await this.request({ kind: "ask", parts });
    return bytes;
  }

  // Resolves with the kernel's answer and its buffers.
  request(message) {
    const sequence = ++this.sequence;
    return new Promise((resolve, reject) => {
      this.asked.set(sequence, { resolve, reject });
      if (!this.send({ ...message, sequence })) {
        this.asked.delete(sequence);
        reject(new Error("its kernel is gone; run the cell again"));
      }
    });
  }

  // A kernel that is gone refuses; the chart stays as it is.
  send(message) {
    try {
      this.model.send({ view: this.id, ...message });
      return true;
    } catch {
      return false;
    }
  }

  answered(message, buffers) {
    if (message?.view !== this.id) return;
    const waiting = this.asked.get(message.sequence);
    if (waiting === undefined) return;
    this.asked.delete(message.sequence);
    if (message.kind === "answer") {
      // Copies: the buffers are views of a message that the notebook may reuse.
      const bytes = buffers.map(({ buffer, byteOffset, byteLength }) =>
        new Uint8Array(buffer, byteOffset, byteLength).slice(),
      );
      waiting.resolve([message, bytes]);
    } else {
      waiting.reject(new Error(String(message.problem)));
    }
  }

  // A library, asked for by the first view of the page that needs it. Where that view goes, or its
  // kernel stays silent, the next one asks.
  async library(part) {
    const key = `${part} ${this.model.get("_versions")[part]}`;
    const known = libraries.get(key);
    if (known === undefined) return this.fetch(part, key);
    const found = await Promise.race([known.catch(() => undefined), later(TAKE_OVER_MS)]);
    if (found !== undefined) return found;
    if (this.closed) throw new Error("closed");
    if (libraries.get(key) === known) libraries.delete(key);
    return this.library(part);
  }

  fetch(part, key) {
    const promise = this.ask(part)
      .then(([bytes]) => inflate(bytes))
      .then((text) => importers[part](text));
    libraries.set(key, promise);
    promise.catch(() => {
      if (libraries.get(key) === promise) libraries.delete(key);
    });
    return promise;
  }

  async open() {
    const waiting = setTimeout(() => {
      this.root.textContent = "The chart waits for the kernel.";
      this.hiding.remove();
    }, PATIENCE_MS);
    try {
      const [bokeh, lens, figure] = await Promise.all([
        this.library("bokeh"),
        this.library("lens"),
        this.ask("item", "facts"),
      ]);
      const [item, facts] = await Promise.all(figure.map(async (one) => JSON.parse(await inflate(one))));
      clearTimeout(waiting);
      if (this.closed) return;
      this.root.textContent = "";
      const opened = lens.openLens(bokeh.default, this.root, item, facts, "auto");
      this.lens = opened.lens;
      await opened.ready;
      if (this.closed) return;
      this.root.after(this.hiding);
      this.follow();
      this.lens.link(this.model, (message) => this.send(message));
      this.last = this.lens.window.join();
      this.lens.listeners.add(() => this.moved());
      this.lens.detail.connectKernel((window) => this.request({ kind: "detail", ...window }));
    } catch (error) {
      clearTimeout(waiting);
      this.hiding.remove();
      if (this.closed) return;
      this.root.textContent = `The chart could not be drawn: ${error.message}`;
      throw error;
    }
  }

  // `timeline.zoom()` moves every view: one that is there, and one that comes later.
  follow() {
    const zoom = this.model.get("_zoom");
    if (this.lens?.range === undefined || zoom.length === 0) return;
    this.lens.zoom(zoom[1], zoom[2]);
  }

  moved() {
    clearTimeout(this.settling);
    this.settling = setTimeout(() => {
      const [start, end] = this.lens.window;
      if (this.closed || this.last === `${start},${end}`) return;
      this.last = `${start},${end}`;
      const after = this.model.get("_zoom")[0] ?? 0;
      const sequence = ++this.sequence;
      this.send({ kind: "window", sequence, after, start, end });
    }, SETTLE_MS);
  }

  close() {
    this.closed = true;
    clearTimeout(this.settling);
    this.model.off("msg:custom", this.receive);
    this.model.off("change:_zoom", this.zoomed);
    for (const { reject } of this.asked.values()) reject(new Error("closed"));
    this.asked.clear();
    this.lens?.remove();
    this.root.remove();
    this.hiding.remove();
  }
}

export default {
  render({ model, el }) {
    const view = new View(model, el);
    view.open();
    return () => view.close();
  },
};

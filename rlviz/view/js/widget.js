// The widget's module: small, because every widget carries a copy of it. BokehJS, the lens and the
// figure come from the kernel on demand, the first two once a page.

const PATIENCE_MS = 2000;
const TAKE_OVER_MS = 10000;

// Each model has its own copy of this module, so what a page shares lies on the page.
const libraries = (globalThis.__rlviz_bokeh ??= new Map());

const FIGURE = ["item", "facts", "levels", "buckets"];

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

// Copies: the buffers are views of a message that the notebook may reuse.
function copied(buffers) {
  return buffers.map(({ buffer, byteOffset, byteLength }) =>
    new Uint8Array(buffer, byteOffset, byteLength).slice(),
  );
}

// A library of the page, from what `bytes` promises.
function install(part, key, bytes) {
  const promise = bytes.then(inflate).then((text) => importers[part](text));
  libraries.set(key, promise);
  promise.catch(() => {
    if (libraries.get(key) === promise) libraries.delete(key);
  });
  return promise;
}

// What the kernel sent unasked: it may come before a view does, and again when the chart is renewed.
const sent = { figure: null, views: new Set() };

function received(model, message, buffers) {
  if (message?.kind !== "chart") return;
  const bytes = copied(buffers);
  const parts = Object.fromEntries(message.parts.map((part, i) => [part, bytes[i]]));
  for (const part of Object.keys(importers)) {
    const key = keyOf(model, part);
    if (parts[part] && !libraries.has(key)) install(part, key, Promise.resolve(parts[part]));
  }
  if (!parts.item) return; // libraries alone, ahead of the first chart
  sent.figure = FIGURE.map((part) => parts[part]);
  for (const view of sent.views) view.renew(sent.figure);
}

function keyOf(model, part) {
  return `${part} ${model.get("_versions")[part]}`;
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
    model.on("msg:custom", this.receive);
  }

  // Ask the kernel for some parts; resolves with their bytes, in order.
  async ask(...parts) {
    const [, bytes] = await this.request({ kind: "ask", parts });
    return bytes;
  }

  // Resolves with the kernel's answer and its buffers; `progress` is told what comes before it.
  request(message, progress) {
    const sequence = ++this.sequence;
    return new Promise((resolve, reject) => {
      this.asked.set(sequence, { resolve, reject, progress });
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
    if (message.kind === "progress") {
      waiting.progress?.(message);
      return;
    }
    this.asked.delete(message.sequence);
    if (message.kind === "answer") {
      waiting.resolve([message, copied(buffers)]);
    } else {
      waiting.reject(new Error(String(message.problem)));
    }
  }

  // A library, asked for by the first view of the page that needs it. Where that view goes, or its
  // kernel stays silent, the next one asks.
  async library(part) {
    const key = keyOf(this.model, part);
    const known = libraries.get(key);
    if (known === undefined) return install(part, key, this.ask(part).then(([bytes]) => bytes));
    const found = await Promise.race([known.catch(() => undefined), later(TAKE_OVER_MS)]);
    if (found !== undefined) return found;
    if (this.closed) throw new Error("closed");
    if (libraries.get(key) === known) libraries.delete(key);
    return this.library(part);
  }

  // Resolves when nothing is on its way unasked any more.
  async settled() {
    const { model } = this;
    if (sent.figure !== null || !model.get("_coming")) return;
    await new Promise((resolve) => {
      this.arrived = resolve;
      model.on("change:_coming", resolve);
    });
    model.off("change:_coming", this.arrived);
  }

  async open() {
    const waiting = setTimeout(() => {
      this.root.textContent = "The chart waits for the kernel.";
      this.hiding.remove();
    }, PATIENCE_MS);
    try {
      await this.settled();
      const [bokeh, lens, figure] = await Promise.all([
        this.library("bokeh"),
        this.library("lens"),
        sent.figure ?? this.ask(...FIGURE),
      ]);
      clearTimeout(waiting);
      if (this.closed) return;
      const { model, root } = this;
      const request = (message, progress) => this.request(message, progress);
      this.chart = new lens.Chart(bokeh.default, model, root, request, (message) => this.send(message));
      await this.chart.draw(sent.figure ?? figure);
    } catch (error) {
      clearTimeout(waiting);
      this.hiding.remove();
      if (this.closed) return;
      this.root.textContent = `The chart could not be drawn: ${error.message}`;
      throw error;
    }
  }

  // Another figure of the same run: where no chart is drawn yet, it will be of this one.
  renew(figure) {
    this.arrived?.();
    this.chart?.renew(figure);
  }

  close() {
    this.closed = true;
    sent.views.delete(this);
    this.model.off("msg:custom", this.receive);
    for (const { reject } of this.asked.values()) reject(new Error("closed"));
    this.asked.clear();
    this.chart?.close();
    this.root.remove();
    this.hiding.remove();
  }
}

export default {
  initialize({ model }) {
    model.on("msg:custom", (message, buffers) => received(model, message, buffers));
  },
  render({ model, el }) {
    const view = new View(model, el);
    sent.views.add(view);
    view.open();
    return () => view.close();
  },
};

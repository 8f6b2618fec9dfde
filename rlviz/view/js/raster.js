// Colours as the pixels of an image, and such an image.

export function rgba(css, share) {
  const [red, green, blue] = [1, 3, 5].map((i) => parseInt(css.slice(i, i + 2), 16) * share);
  // As little-endian bytes lie in an image: red first, opaque.
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

// Pixels of the frame: filled here, drawn as one image, so that their number costs nothing.
export class Raster {
  constructor() {
    this.canvas = document.createElement("canvas");
    this.context = this.canvas.getContext("2d");
  }

  begin(width, height) {
    if (this.canvas.width !== width || this.canvas.height !== height || this.image === undefined) {
      this.canvas.width = width;
      this.canvas.height = height;
      this.image = this.context.createImageData(width, height);
      this.pixels = new Uint32Array(this.image.data.buffer);
      this.high = new Int16Array(width);
      this.ink = new Uint32Array(width);
      this.below = new Int32Array(width);
    } else {
      this.pixels.fill(0);
    }
    this.width = width;
    this.height = height;
  }

  // Whole pixels, one at least. `from` and `until` along time, `top` to `bottom` down.
  fill(from, until, top, bottom, color) {
    const left = Math.max(Math.round(from), 0);
    const right = Math.min(Math.max(Math.round(until), Math.round(from) + 1), this.width);
    if (right <= left) return;
    for (let y = top; y < bottom; y++) {
      const line = y * this.width;
      if (right - left === 1) this.pixels[line + left] = color;
      else this.pixels.fill(color, line + left, line + right);
    }
  }

  // A line of bars that stand on one ground: `beginLine`, any number of `bar`, `endLine`. However
  // many bars share a pixel, the highest of them shows.
  beginLine() {
    this.high.fill(0);
    this.ink.fill(0);
    this.highest = 0;
  }

  bar(from, until, high, color) {
    const first = Math.round(from);
    const left = Math.max(first, 0);
    const right = Math.min(Math.max(Math.round(until), first + 1), this.width);
    for (let x = left; x < right; x++) {
      if (this.high[x] >= high) continue;
      this.high[x] = high;
      this.ink[x] = color;
    }
    if (high > this.highest) this.highest = high;
  }

  // Whole lines of pixels from the ground up, each without the bars that end below it.
  endLine(ground) {
    const { high, ink, pixels, width, below } = this;
    const ends = new Int32Array(this.highest + 1).fill(-1);
    for (let x = 0; x < width; x++) {
      below[x] = ends[high[x]];
      ends[high[x]] = x;
    }
    for (let up = 1; up <= this.highest && up <= ground; up++) {
      for (let x = ends[up - 1]; up > 1 && x >= 0; x = below[x]) ink[x] = 0;
      pixels.set(ink, (ground - up) * width);
    }
  }

  draw(context, x, y, width, height) {
    this.context.putImageData(this.image, 0, 0);
    context.save();
    context.imageSmoothingEnabled = false;
    // Bokeh moves its canvas by half a pixel, for sharp lines; bars are areas.
    context.drawImage(this.canvas, x - 0.5, y - 0.5, width, height);
    context.restore();
  }
}

// Columns in a page, read from the planes of bytes that `rlviz.view.packed` cuts them into.

const TIME_BYTES = 6;

// Reads columns that were written one behind the other.
export class Reader {
  constructor(bytes) {
    this.bytes = bytes;
    this.at = 0;
  }

  whole(length) {
    return this.bytes.subarray(this.at, (this.at += length));
  }

  integers(length, size) {
    const found = new Float64Array(length);
    let weight = 1;
    for (let plane = 0; plane < size; plane++, weight *= 256) {
      const own = this.whole(length);
      for (let i = 0; i < length; i++) found[i] += own[i] * weight;
    }
    return found;
  }

  // Starts are written as differences, from a first moment on.
  starts(length, first) {
    const start = this.integers(length, TIME_BYTES);
    let at = first;
    for (let i = 0; i < length; i++) start[i] = at += start[i];
    return start;
  }

  // Ends are written as lengths. `reach` is the latest end so far: what reaches into a window stands
  // behind the first that does.
  ends(start) {
    const end = this.integers(start.length, TIME_BYTES);
    const reach = new Float64Array(start.length);
    let latest = -Infinity;
    for (let i = 0; i < end.length; i++) {
      end[i] += start[i];
      reach[i] = latest = Math.max(latest, end[i]);
    }
    return { end, reach };
  }

  floats(length) {
    const bytes = new Uint8Array(length * 8);
    for (let plane = 0; plane < 8; plane++) {
      const own = this.whole(length);
      for (let i = 0; i < length; i++) bytes[i * 8 + plane] = own[i];
    }
    return new Float64Array(bytes.buffer);
  }
}

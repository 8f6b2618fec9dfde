// What a bucket under the pointer stands for, from whoever has the events: asked for when the
// pointer rests on it.

const REST_MS = 60;
// Who is silent for so long is asked again.
export const GIVE_UP_MS = 10000;
const MOST_KNOWN = 5000;

function keyOf({ row, left, right }) {
  return `${row} ${left} ${right}`;
}

export class Explainer {
  constructor() {
    this.known = new Map();
    this.wanted = null;
    this.askedAt = -Infinity;
    // Called when an answer has come.
    this.changed = () => {};
  }

  // A bucket with what is known of it; `count` stays undefined until it is.
  explained(bucket) {
    return { ...bucket, ...this.known.get(keyOf(bucket)), summed: true };
  }

  // The pointer is on a bucket, or (null) on none.
  rest(bucket) {
    const key = bucket === null ? null : keyOf(bucket);
    if (key === this.wanted) return;
    this.wanted = key;
    this.bucket = bucket;
    clearTimeout(this.resting);
    if (key === null || this.known.has(key) || this.source?.bucket === undefined) return;
    this.resting = setTimeout(() => this.ask(), REST_MS);
  }

  // One request at a time; then for the bucket that the pointer is on by now.
  async ask() {
    if (this.wanted === null || this.known.has(this.wanted)) return;
    if (performance.now() - this.askedAt < GIVE_UP_MS) return;
    const { wanted: key, bucket } = this;
    const askedAt = (this.askedAt = performance.now());
    let found = {};
    try {
      const { row, left: start, width } = bucket;
      found = await this.source.bucket({ row, start, width });
    } catch {
      // What is seen is told all the same.
    }
    if (this.gone || askedAt !== this.askedAt) return;
    this.askedAt = -Infinity;
    if (this.known.size >= MOST_KNOWN) this.known.clear();
    const { count, busy, longest, name, text, share } = found;
    this.known.set(key, { count, busy_s: busy, longest_s: longest, name, text, name_share: share });
    if (key === this.wanted) this.changed();
    else this.ask();
  }

  forget() {
    this.known.clear();
    this.wanted = null;
    this.askedAt = -Infinity;
    clearTimeout(this.resting);
  }

  remove() {
    this.gone = true;
    clearTimeout(this.resting);
  }
}

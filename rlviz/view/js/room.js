// Room below rows, for what they expand into: whatever stands lower moves down.

// Sources whose marks stand where the scene put them; all others the lens fills itself.
const MOVING_DOWN = [
  "bands", "not_captured", "no_gpu_data", "reading", "edge", "lines-boundary", "lines-refit",
  "brackets", "caps",
];
const ROOM_COLUMNS = ["top", "bottom", "y", "y0", "y1"];
// Left of the names.
const BUTTONS_PX = 50;
// Row units, less than any two things are apart.
const NEAR = 1e-6;

function heightsOf(object) {
  return Object.fromEntries(ROOM_COLUMNS.filter((key) => key in object).map((key) => [key, object[key]]));
}

export class Room {
  // `placed` is called when the frame has its new height.
  constructor(lens, placed) {
    const { facts, marks, main } = lens;
    this.lens = lens;
    this.below = [];
    this.height = facts.height;
    const told = [...facts.rows, ...facts.pools, ...facts.brackets];
    this.told = told.map((one) => [one, heightsOf(one)]);
    this.rows = new Map(facts.rows.map(({ row, bottom }) => [row, bottom]));
    const sources = new Set(main.renderers.map(({ data_source: source }) => source));
    this.sources = [...sources]
      .filter(({ name }) => MOVING_DOWN.includes(name))
      .map((source) => [source, { ...source.data }]);
    this.bars = { top: marks.bars.top, bottom: marks.bars.bottom };
    this.texts = [...main.left, ...main.right]
      .map(({ major_label_overrides: texts }) => texts)
      .filter((texts) => texts instanceof Map && texts.size > 0)
      .map((texts) => [texts, [...texts]]);
    // From where `lowered` counts.
    marks.standing = facts.rows.map(({ row, top, bottom }) => ({ row, top, bottom }));
    marks.lowered = (y) => this.lowered(y);
    main.properties.inner_height.change.connect(placed);
  }

  // Where something stands now that stood at `y` before there was any room.
  lowered(y) {
    let by = 0;
    for (const [bottom, room] of this.below) if (y > bottom + NEAR) by += room;
    return y + by;
  }

  // Say what stands where: `rooms` is by row the room below it, in row units.
  make(rooms) {
    const { facts, marks } = this.lens;
    this.below = [...rooms].map(([row, room]) => [this.rows.get(row), room]);
    for (const [one, base] of this.told) {
      for (const [key, y] of Object.entries(base)) one[key] = this.lowered(y);
    }
    facts.height = this.height + this.below.reduce((sum, [, room]) => sum + room, 0);
    for (const [key, base] of Object.entries(this.bars)) marks.bars[key] = this.all(base);
  }

  // Draw it so; `names` are of what stands in the room, beside those of rows. Bokeh may paint at any
  // of these steps.
  draw(names) {
    const { facts, marks, main } = this.lens;
    this.name(names);
    for (const [source, base] of this.sources) {
      const moved = Object.keys(base).filter((key) => ROOM_COLUMNS.includes(key));
      source.data = { ...base, ...Object.fromEntries(moved.map((key) => [key, this.all(base[key])])) };
    }
    marks.filter();
    main.y_range.start = facts.height;
    main.frame_height = Math.round(facts.height * facts.row_px);
  }

  all(values) {
    return Float64Array.from(values, (y) => this.lowered(y));
  }

  name(names) {
    const { labels, facts } = this.lens;
    const room = facts.left_px - BUTTONS_PX;
    this.texts.forEach(([texts, base], i) => {
      texts.clear();
      for (const [at, text] of base) texts.set(this.lowered(Number(at)), text);
      if (i > 0) return;
      for (const { top, bottom, text } of names) {
        texts.set((top + bottom) / 2, { text: labels.small.fit([text], room) });
      }
    });
  }
}

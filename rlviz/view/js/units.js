// Times and shares as people read them. All times are seconds on the run's clock.

const UNITS = [[1, "s"], [1e-3, "ms"], [1e-6, "us"], [1e-9, "ns"]];

// The unit in which `seconds` has one to three digits before the point.
function unitOf(seconds) {
  const size = Math.abs(seconds);
  return UNITS.find(([factor]) => size >= factor * 0.9995) ?? UNITS[UNITS.length - 1];
}

// "17.5 s", "820 us": three digits, as much as the eye compares.
export function duration(seconds) {
  if (seconds === 0) return "0 s";
  const [factor, unit] = unitOf(seconds);
  const value = seconds / factor;
  const size = Math.abs(value);
  if (unit === "ns") return `${Math.round(value)} ns`;
  return `${value.toFixed(size >= 99.95 ? 0 : size >= 9.995 ? 1 : 2)} ${unit}`;
}

// "42.123456 s": a place on the run's clock, to the microsecond; finer where `span` is finer.
export function clock(seconds, span = 1) {
  return `${seconds.toFixed(span < 1e-5 ? 9 : 6)} s`;
}

export function percent(share) {
  const value = share * 100;
  if (value > 0 && value < 0.1) return "< 0.1 %";
  return `${value >= 9.95 || value === 0 ? Math.round(value) : value.toFixed(1)} %`;
}

export function grouped(count) {
  return count.toLocaleString("en-US");
}

// Absolute time; `zero` is the run's start as a BigInt of UTC nanoseconds, which no float holds.
export function absolute(zero, seconds) {
  const at = zero + BigInt(Math.round(seconds * 1e9));
  const second = 1_000_000_000n;
  const rest = ((at % second) + second) % second;
  const date = new Date(Number((at - rest) / 1_000_000n));
  if (Number.isNaN(date.getTime())) return "";
  const text = date.toISOString();
  const micros = String(rest / 1000n).padStart(6, "0");
  return `${text.slice(0, 10)} ${text.slice(11, 19)}.${micros} UTC`;
}

// What all ticks of an axis share, and how each is then written. Zoomed in, "+ 250 us" behind a
// base of "42.123 s" can be read; "42.12325 s" beside "42.12350 s" cannot.
export function ticking(step, start) {
  const [factor, unit] = UNITS.find(([size]) => step >= size * 0.0999) ?? UNITS[3];
  const digits = Math.max(0, Math.ceil(-Math.log10((step / factor) * 1.0001)));
  if (factor === 1) return { base: 0, digits, factor, unit };
  const group = factor * 1000;
  // A hundredth of a step: a window's start may lie a rounding error below the group's.
  const base = Math.floor((start + step / 100) / group) * group;
  return { base, digits, factor, unit };
}

// The base itself, with the digits that it has; nothing where it is zero.
export function baseText({ base, factor }) {
  if (base === 0) return "";
  const digits = Math.max(0, Math.round(-Math.log10(factor * 1000)));
  return `${base.toFixed(digits)} s +`;
}

export function tickText(seconds, { base, digits, factor, unit }) {
  const text = ((seconds - base) / factor).toFixed(digits);
  return `${Number(text) === 0 ? text.replace("-", "") : text} ${unit}`;
}


// Time and its two scales. Everything is placed by u, the scale's coordinate. In the true scale, u is time; in the
// story scale, the width of each interval between moments is the logarithm of its length, and time is linear within.
let scale = "story", stops = [BEGIN, END], places = [BEGIN, END];
let v0 = BEGIN, v1 = END;
const view = { width: 900, gutter: 118, right: 14, phone: false };
const plotWidth = () => view.width - view.gutter - view.right;
function setScale(to) {
  scale = to;
  stops = [BEGIN, END];
  places = [BEGIN, END];
  const times = [BEGIN, ...MOMENTS.map(m => m.t), ...RUNS.flatMap(r => r.M.stale.map(s => s.to)), END];
  if (to === "story" && MOMENTS.length) {
    stops = [...new Set(times)].sort((a, b) => a - b);
    // The more moments there are, the less space each gets.
    const least = .45 * Math.min(1, 45 / stops.length);
    const widths = [0];
    for (let i = 1; i < stops.length; i++) {
      const edge = i === 1 || i === stops.length - 1 ? .55 : 1;
      widths.push(widths[i - 1] + Math.max(least, Math.log10(1 + (stops[i] - stops[i - 1]) / 1e3)) * edge);
    }
    const factor = (END - BEGIN) / widths[widths.length - 1];
    places = widths.map(w => BEGIN + w * factor);
  }
  $("story").setAttribute("aria-pressed", to === "story");
  $("true").setAttribute("aria-pressed", to === "true");
}
function interpolate(from, to, x) {
  const last = from.length - 1;
  if (x >= from[last]) return to[last];
  let lo = 0, hi = last;
  while (hi - lo > 1) {
    const mid = (lo + hi) >> 1;
    if (from[mid] <= x) lo = mid; else hi = mid;
  }
  return to[lo] + (x - from[lo]) / (from[hi] - from[lo]) * (to[hi] - to[lo]);
}
const toPlace = t => interpolate(stops, places, t), toTime = u => interpolate(places, stops, u);
const X = t => view.gutter + (toPlace(t) - v0) / (v1 - v0) * plotWidth();
const timeAt = x => toTime(v0 + (x - view.gutter) / plotWidth() * (v1 - v0));
const visible = x => x >= view.gutter - 1 && x <= view.width - view.right + 1;
/// The view [a, b], kept within the run and not too narrow.
function clamped(a, b) {
  const width = Math.min(END - BEGIN, Math.max(b - a, scale === "true" ? Math.min(50, END - BEGIN) : (END - BEGIN) / 1e5));
  a = (a + b - width) / 2;
  a = Math.min(Math.max(a, BEGIN), END - width);
  return [a, a + width];
}


// Drawing: colours, hatching, pills, the axis and the numbered moments.
let ink = {}, dark = false, patterns = {};
function readTheme() {
  const style = getComputedStyle(document.documentElement);
  for (const name of ["page", "panel", "ink", "dim", "faint", "line", "bad", "good", "hatch", "accent"])
    ink[name] = style.getPropertyValue("--" + name).trim();
  const chosen = document.documentElement.dataset.theme;
  dark = chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  patterns = {};
}
const colour = i => COLOURS[dark ? "dark" : "light"][i % 8];
/// There are eight colours: from the ninth leadership on, dashes distinguish them.
const dashes = i => [[], [7, 3], [2, 2]][Math.floor(i / 8) % 3];
let printing = false;
const pixelRatio = () => Math.max(devicePixelRatio || 1, printing ? 2 : 1);
const onColour = () => dark ? "#0c0f13" : "#fff";
const font = (size, weight = 400) => `${weight} ${size}px system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif`;
function sized(canvas, width, height) {
  const ratio = pixelRatio(), w = Math.round(width * ratio), h = Math.round(height * ratio);
  if (canvas.width !== w || canvas.height !== h) {
    canvas.width = w;
    canvas.height = h;
    canvas.style.width = width + "px";
    canvas.style.height = height + "px";
  }
  const ctx = canvas.getContext("2d");
  ctx.setTransform(ratio, 0, 0, ratio, 0, 0);
  ctx.clearRect(0, 0, width, height);
  return ctx;
}
/// Each reason for not running has its pattern: strokes for a pause, crosses for down, dots for cut off.
function hatching(ctx, kind) {
  if (patterns[kind]) return patterns[kind];
  const tile = document.createElement("canvas"), ratio = pixelRatio();
  tile.width = tile.height = 10 * ratio;
  const c = tile.getContext("2d");
  c.scale(ratio, ratio);
  c.strokeStyle = kind === "stale" ? ink.bad : ink.hatch;
  c.globalAlpha = kind === "stale" ? .8 : kind === "other" ? .35 : .5;
  c.lineWidth = kind === "stale" ? 2 : 1.3;
  c.beginPath();
  if (kind === "pause" || kind === "down" || kind === "stale") {
    for (const o of [-10, 0, 10]) {
      c.moveTo(o - 1, 11); c.lineTo(o + 11, -1);
      if (kind === "down") { c.moveTo(o - 1, -1); c.lineTo(o + 11, 11); }
    }
  } else {
    c.setLineDash([2, 3]);
    for (const y of kind === "cut" ? [2.5, 7.5] : [5]) { c.moveTo(0, y); c.lineTo(10, y); }
  }
  c.stroke();
  const pattern = ctx.createPattern(tile, "repeat");
  pattern.setTransform(new DOMMatrix().scale(1 / ratio));
  return patterns[kind] = pattern;
}
function text(ctx, words, x, y, { size = 12, weight = 400, fill = ink.ink, align = "left", base = "middle" } = {}) {
  ctx.font = font(size, weight);
  ctx.fillStyle = fill;
  ctx.textAlign = align;
  ctx.textBaseline = base;
  ctx.fillText(words, x, y);
}
function widthOf(ctx, words, size = 12, weight = 650) {
  ctx.font = font(size, weight);
  return ctx.measureText(words).width;
}
/// Draws words in a box; returns its width.
function pill(ctx, x, y, words, back, front, { size = 12, border = null } = {}) {
  const width = widthOf(ctx, words, size) + 12;
  ctx.fillStyle = back;
  ctx.beginPath();
  ctx.roundRect(x, y, width, size + 7, 5);
  ctx.fill();
  if (border) { ctx.strokeStyle = border; ctx.lineWidth = 1; ctx.stroke(); }
  text(ctx, words, x + 6, y + (size + 7) / 2 + .5, { size, weight: 650, fill: front });
  return width;
}
/// As much of `words` as fits; empty if that would say nothing.
function fitted(ctx, words, room, size = 12, weight = 650) {
  if (widthOf(ctx, words, size, weight) <= room) return words;
  let lo = 0, hi = words.length;
  while (lo < hi) {
    const mid = (lo + hi + 1) >> 1;
    if (widthOf(ctx, words.slice(0, mid) + "…", size, weight) <= room) lo = mid; else hi = mid - 1;
  }
  return lo > 3 ? words.slice(0, lo).trimEnd() + "…" : "";
}
/// A name cut in the middle: names mostly differ at their ends.
function middled(ctx, name, room, size = 12, weight = 650) {
  const words = widthOf(ctx, name, size, weight) <= room ? name : shortName(name);
  let keep = words.length;
  const cut = () => words.slice(0, Math.ceil(keep * .4)) + "…" + words.slice(words.length - Math.floor(keep * .6));
  if (widthOf(ctx, words, size, weight) <= room) return words;
  while (keep > 3 && widthOf(ctx, cut(), size, weight) > room) keep--;
  return cut();
}
/// The first of the choices that fits uncut.
const fitting = (ctx, choices, room, size = 12, weight = 650) => choices.find(words => widthOf(ctx, words, size, weight) <= room) ?? "";
function diamond(ctx, x, y, r) {
  ctx.fillStyle = ink.bad;
  ctx.strokeStyle = ink.page;
  ctx.lineWidth = 2;
  ctx.beginPath();
  ctx.moveTo(x, y - r - 2); ctx.lineTo(x + r + 2, y); ctx.lineTo(x, y + r + 2); ctx.lineTo(x - r - 2, y);
  ctx.closePath();
  ctx.stroke();
  ctx.fill();
  text(ctx, "!", x, y + .5, { weight: 800, fill: ink.page, align: "center" });
}
function arrow(ctx, x0, y0, x1, y1, stroke, width = 1.6) {
  const angle = Math.atan2(y1 - y0, x1 - x0), head = 4 + 2 * width;
  ctx.strokeStyle = ctx.fillStyle = stroke;
  ctx.lineWidth = width;
  ctx.beginPath();
  ctx.moveTo(x0, y0); ctx.lineTo(x1, y1);
  ctx.stroke();
  ctx.beginPath();
  ctx.moveTo(x1, y1);
  for (const turn of [-.4, .4]) ctx.lineTo(x1 - head * Math.cos(angle + turn), y1 - head * Math.sin(angle + turn));
  ctx.fill();
}
/// The distance between two labels of the axis, at least `least`: 1, 2 or 5 times a power of ten, or a round part of a
/// day.
function tick(least) {
  const clock = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400].map(s => s * 1e6);
  if (M.clock && least > 1e6 && least <= 3e7) return [2, 5, 10, 15, 30].map(s => s * 1e6).find(step => step >= least);
  if ((LONG || M.clock) && least > 3e7 && least <= 8.64e10) return clock.find(step => step >= least);
  const unit = (LONG || M.clock) && least > 8.64e10 ? 8.64e10 : 1, step = Math.pow(10, Math.ceil(Math.log10(least / unit))) * unit;
  return step / 5 >= least ? step / 5 : step / 2 >= least ? step / 2 : step;
}
/// Draws the times along the axis; returns the places of those with a label.
function axis(ctx, y) {
  const taken = [], labelled = [];
  const free = (a, b) => !taken.some(([c, d]) => a < d + 8 && b > c - 8);
  const put = (t, x, words, weight) => {
    // The space around a log is not part of its time.
    if (t < BEGIN + PAD || t > END - PAD) return;
    const w = widthOf(ctx, words, 12, weight), left = Math.min(Math.max(x - w / 2, view.phone ? 0 : view.gutter - 24), view.width - w);
    if (t < Math.min(...RUNS.map(r => r.M.begin)) || !free(left, left + w)) return;
    taken.push([left, left + w]);
    text(ctx, words, left, y, { weight, fill: weight > 400 ? ink.ink : ink.dim });
    labelled.push(x);
  };
  const first = Math.max(0, lowerBound(places, u => u, v0) - 1);
  if (scale === "story") {
    const digits = toTime(v1) - toTime(v0) < 2e4 ? 6 : DIGITS;
    const bad = new Set(MOMENTS.filter(m => m.k === "bad").map(m => m.t));
    for (const pass of [true, false])
      for (let i = first; i < stops.length && places[i] <= v1; i++)
        if (bad.has(stops[i]) === pass && visible(X(stops[i]))) put(stops[i], X(stops[i]), at(stops[i], digits), 600);
  }
  for (let i = first; i < stops.length - 1 && places[i] < v1; i++) {
    const xa = X(stops[i]), xb = X(stops[i + 1]), a = Math.max(view.gutter, xa), b = Math.min(view.width - view.right, xb);
    if (b - a < 30) continue;
    const perPixel = (stops[i + 1] - stops[i]) / (xb - xa);
    if (scale === "story" && xb - xa < 700) {
      // The real duration of a squeezed interval.
      const words = "‹ " + duration(stops[i + 1] - stops[i]) + " ›", w = widthOf(ctx, words, 12, 400), mid = (a + b) / 2;
      if (w + 12 < b - a && free(mid - w / 2, mid + w / 2)) {
        taken.push([mid - w / 2, mid + w / 2]);
        text(ctx, words, mid, y, { fill: ink.dim, align: "center" });
      }
      continue;
    }
    // A log's labels are at full minutes and hours of its own time.
    const zero = M.clock ? M.clock.origin_us + M.clock.offset_s * 1e6 : 0;
    const step = tick(perPixel * (M.clock?.dates ? 190 : LONG || M.clock ? 110 : 90)), digits = Math.max(0, Math.min(6, 6 - Math.floor(Math.log10(step) + 1e-9)));
    for (let t = Math.ceil((zero + timeAt(a)) / step) * step - zero; t <= timeAt(b); t += step) put(t, X(t), at(t, digits), 400);
  }
  return labelled;
}
/// Draws the numbers of the moments; those that would collide share one.
function drawMarks(ctx, y) {
  const groups = [];
  const label = g => g.first === g.last ? "" + g.first : g.first + "–" + g.last;
  const half = words => Math.max(24, widthOf(ctx, words, 11, 700) + 10) / 2;
  for (const m of MOMENTS) {
    if (!m.runs.includes(run.n)) continue;
    const x = X(m.t), last = groups[groups.length - 1];
    if (!visible(x)) continue;
    if (last && x - half("" + m.n) < (last.x0 + last.x1) / 2 + half(label(last)) + 2) {
      last.last = m.n;
      last.x1 = x;
      last.bad ||= m.k === "bad";
    } else groups.push({ first: m.n, last: m.n, x0: x, x1: x, bad: m.k === "bad" });
  }
  run.marks = groups.map(g => {
    const words = label(g), w = half(words) * 2, x = Math.min(Math.max((g.x0 + g.x1) / 2 - w / 2, 0), view.width - w);
    ctx.fillStyle = g.bad ? ink.bad : ink.panel;
    ctx.strokeStyle = g.bad ? ink.bad : ink.dim;
    ctx.lineWidth = 1.5;
    ctx.beginPath();
    ctx.roundRect(x + 1, y + 1, w - 2, 22, 11);
    ctx.fill();
    ctx.stroke();
    text(ctx, words, x + w / 2, y + 12.5, { size: 11, weight: 700, fill: g.bad ? ink.page : ink.ink, align: "center" });
    return { x, w, first: g.first, last: g.last };
  });
}

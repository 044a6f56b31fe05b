
// The store: numbers written over time, in the colour of their token. A healthy run is one rising line.
/// One pass over the visible writes: for each leadership and resource, lowest and highest number in every pixel.
function binned() {
  const key = [v0, v1, view.width, scale].join();
  if (run.bins.key === key || !E) return run.bins;
  const width = Math.ceil(plotWidth()), found = new Map();
  const first = Math.max(0, lowerBound(E.applies, i => E.t[i], timeAt(view.gutter) - 1) - 1), until = timeAt(view.width - view.right) + 1;
  let stop = 0, count = 0;
  for (let j = first; j < E.applies.length; j++) {
    const i = E.applies[j], t = E.t[i];
    if (t > until) break;
    if (E.verdict[i] === 1) continue;
    // The scale is linear between its stops, so no search is needed for each event.
    while (stop < stops.length - 2 && t >= stops[stop + 1]) stop++;
    const u = places[stop] + (t - stops[stop]) / (stops[stop + 1] - stops[stop]) * (places[stop + 1] - places[stop]);
    const x = Math.floor((u - v0) / (v1 - v0) * plotWidth());
    if (x < 0 || x >= width) continue;
    const refused = E.verdict[i] > 1, id = (E.inc[i] * 256 + E.res[i]) * 2 + (refused ? 1 : 0);
    let bin = found.get(id);
    if (!bin) found.set(id, bin = { inc: E.inc[i], res: E.res[i], refused, low: new Float64Array(width).fill(NaN), high: new Float64Array(width).fill(NaN) });
    if (!(bin.low[x] <= E.seq[i])) bin.low[x] = E.seq[i];
    if (!(bin.high[x] >= E.seq[i])) bin.high[x] = E.seq[i];
    count++;
  }
  return run.bins = { key, by: [...found.values()], count };
}
function drawStore(ctx, row) {
  if (row.node >= 0) drawShades(ctx, row, row.node, row.y, row.h - 1);
  const mine = binned().by.filter(b => b.res === 0);
  let low = Infinity, high = -Infinity;
  for (const b of mine) for (let x = 0; x < b.low.length; x++) { if (b.low[x] < low) low = b.low[x]; if (b.high[x] > high) high = b.high[x]; }
  if (low > high) { low = 0; high = 1; }
  const pad = Math.max(.6, (high - low) * .08), ribbon = row.y + (view.phone ? 22 : 3);
  const top = ribbon + 26, bottom = row.y + row.h - 8;
  Object.assign(row, { low, high, Y: n => bottom - (n - low + pad) / (high - low + 2 * pad) * (bottom - top) });
  for (const [from, to] of M.dark) {
    const x = X(from), w = X(to) - x;
    if (w < 6) continue;
    ctx.fillStyle = ink.faint;
    ctx.globalAlpha = .8;
    ctx.fillRect(x, top - 4, w, bottom - top + 8);
    ctx.globalAlpha = 1;
    const a = Math.max(x, view.gutter), b = Math.min(x + w, view.width - view.right);
    for (const words of ["nothing accepted for " + duration(to - from), "nothing accepted", "nothing"])
      if (widthOf(ctx, words, 12, 600) <= b - a - 8) { text(ctx, words, (a + b) / 2, top + 8, { weight: 600, fill: ink.dim, align: "center" }); break; }
  }
  drawRibbon(ctx, ribbon);
  drawNumbers(ctx, row, mine);
  for (const s of M.stale) if (s.r === 0) drawStale(ctx, row, s, bottom);
  for (const r of M.refused) {
    const x = X(r.from);
    if (r.r !== 0 || !visible(x)) continue;
    ctx.strokeStyle = colour(r.i);
    ctx.fillStyle = ink.page;
    ctx.lineWidth = 2.2;
    ctx.beginPath();
    ctx.arc(x, clampY(row, r.seq), 7, 0, 7);
    ctx.fill();
    ctx.stroke();
  }
  drawStoreWords(ctx, row, top, bottom);
}
const clampY = (row, seq) => Math.min(row.y + row.h - 6, Math.max(row.y + 24, row.Y(seq)));
/// Which leadership the store follows: the newest that has sealed it or written.
function drawRibbon(ctx, y) {
  const mine = M.takeovers.filter(t => t.r === 0);
  mine.forEach((t, place) => {
    const x0 = X(t.t), x1 = place + 1 < mine.length ? X(mine[place + 1].t) : view.width - view.right;
    if (x1 < view.gutter || x0 > view.width) return;
    ctx.fillStyle = colour(t.i);
    ctx.globalAlpha = .22;
    ctx.fillRect(x0, y, x1 - x0, 17);
    ctx.globalAlpha = 1;
    ctx.fillRect(x0, y, 2, 17);
    const left = Math.max(x0, view.gutter) + 7, room = Math.min(x1, view.width - view.right) - left - 3;
    const label = M.incarnations[t.i].label;
    for (const words of [`✓ ${leaderName(t.i)} takes over, ${label}`, `✓ ${leaderName(t.i)}, ${label}`, `✓ ${leaderName(t.i)}`])
      if (widthOf(ctx, words, 11.5, 600) <= room) { text(ctx, words, left, y + 9, { size: 11.5, weight: 600 }); break; }
  });
}
function drawNumbers(ctx, row, mine) {
  const { bins } = run, few = bins.count < 70, thick = bins.count < plotWidth() * .8 ? 5 : 3;
  for (const b of mine) {
    ctx.fillStyle = ctx.strokeStyle = colour(b.inc);
    ctx.lineWidth = 1.6;
    for (let x = 0; x < b.low.length; x++) {
      if (b.low[x] !== b.low[x]) continue;
      const ya = row.Y(b.high[x]), yb = row.Y(b.low[x]);
      if (b.refused || few) {
        ctx.beginPath();
        ctx.arc(view.gutter + x, ya, few ? 5 : 4, 0, 7);
        b.refused ? ctx.stroke() : ctx.fill();
      } else ctx.fillRect(view.gutter + x - thick / 2, ya - thick / 2, thick, Math.max(thick, yb - ya + thick));
    }
  }
  if (bins.count && bins.count < 24) {
    for (const b of mine) for (let x = 0; x < b.high.length; x++)
      if (b.high[x] === b.high[x] && !b.refused && !M.stale.some(s => s.r === 0 && s.seq === b.high[x]))
        text(ctx, grouped(b.high[x]), view.gutter + x, row.Y(b.high[x]) + (row.Y(b.high[x]) < row.y + 60 ? 14 : -13), { size: 11, fill: ink.dim, align: "center" });
    return;
  }
  for (const b of mine) {
    if (b.refused) continue;
    let from = -1, to = -1;
    for (let x = 0; x < b.low.length; x++) if (b.low[x] === b.low[x]) { if (from < 0) from = x; to = x; }
    const label = M.incarnations[b.inc].label, words = M.incarnations[b.inc].token !== "0" ? label : leaderName(b.inc);
    if (to - from < widthOf(ctx, words, 11.5) + 20) continue;
    let mid = (from + to) >> 1;
    while (mid > from && b.high[mid] !== b.high[mid]) mid--;
    const y = row.Y(b.high[mid]) - 12;
    if (y > row.y + 34) text(ctx, words, view.gutter + mid - 2, y, { size: 11.5, weight: 650, fill: colour(b.inc), align: "right" });
  }
}
/// Wrongly accepted: by shape, by colour and by words.
function drawStale(ctx, row, s, bottom) {
  const x0 = X(s.from), x1 = X(s.to), y = clampY(row, s.seq);
  if (x1 < view.gutter - 9 || x0 > view.width) return;
  ctx.strokeStyle = ink.bad;
  if (s.n > 1) {
    ctx.lineWidth = 3;
    ctx.beginPath();
    ctx.moveTo(x0, bottom + 3);
    ctx.lineTo(Math.max(x1, x0 + 2), bottom + 3);
    ctx.stroke();
  }
  if (s.prev > s.seq) {
    ctx.lineWidth = 2;
    ctx.setLineDash([2, 3]);
    ctx.beginPath();
    ctx.moveTo(x0, clampY(row, s.prev));
    ctx.lineTo(x0, y);
    ctx.stroke();
    ctx.setLineDash([]);
  }
  diamond(ctx, x0, y, 8);
}
function drawStoreWords(ctx, row, top, bottom) {
  // No words may hide what others speak of.
  const taken = [...M.stale, ...M.refused].filter(s => s.r === 0 && visible(X(s.from))).map(s => ({ x: X(s.from) - 9, w: 18, y: clampY(row, s.seq) - 10 }));
  const put = (x, seq, choices, tone) => {
    if (!visible(x)) return;
    for (const words of choices) {
      const w = widthOf(ctx, words, 12.5) + 12;
      for (const left of [x + 13, x - 13 - w]) {
        if (left < view.gutter || left + w > view.width - view.right) continue;
        for (const dy of [14, -34, 36, -56, 58, -78, 80]) {
          const y = Math.min(Math.max(clampY(row, seq) + dy, top), bottom - 18);
          if (taken.some(t => left < t.x + t.w + 4 && left + w > t.x - 4 && Math.abs(y - t.y) < 22)) continue;
          taken.push({ x: left, w, y });
          pill(ctx, left, y, words, ink.panel, tone, { size: 12.5, border: tone });
          return;
        }
      }
    }
  };
  for (const s of M.stale) {
    if (s.r !== 0) continue;
    const by = `${leaderName(s.i)}, ${M.incarnations[s.i].label}`;
    put(X(s.from), s.seq, s.n > 1
      ? [`ACCEPTED: ${grouped(s.n)} stale writes of ${by}`, `ACCEPTED: ${grouped(s.n)} stale`, "ACCEPTED"]
      : [`ACCEPTED: ${grouped(s.seq)} of ${by}; the store was at ${grouped(s.prev)}`, `ACCEPTED: ${grouped(s.seq)}, stale`, "ACCEPTED"], ink.bad);
  }
  for (const r of M.refused) {
    if (r.r !== 0) continue;
    const more = r.n > 1 ? `, and ${grouped(r.n - 1)} more` : "";
    put(X(r.from), r.seq, [`refused: ${grouped(r.seq)} of ${leaderName(r.i)}, ${M.incarnations[r.i].label}${more}`, "refused"], ink.ink);
  }
}
/// Another resource: its writes as dots, a row for every other leadership.
function drawStrip(ctx, row) {
  const mid = row.y + (view.phone ? 28 : row.h / 2);
  for (const b of binned().by) {
    if (b.res !== row.r) continue;
    ctx.fillStyle = ctx.strokeStyle = colour(b.inc);
    ctx.lineWidth = 1.6;
    for (let x = 0; x < b.low.length; x++) {
      if (b.low[x] !== b.low[x]) continue;
      ctx.beginPath();
      ctx.arc(view.gutter + x, mid + (b.inc % 2 ? 4.5 : -4.5), 3.4, 0, 7);
      b.refused ? ctx.stroke() : ctx.fill();
    }
  }
  for (const s of M.stale) {
    if (s.r !== row.r) continue;
    const x0 = X(s.from), x1 = X(s.to);
    ctx.fillStyle = ink.bad;
    ctx.fillRect(x0 - 3, row.y + row.h - 4, x1 - x0 + 6, 3);
    if (visible(x0)) diamond(ctx, x0, mid, 6);
  }
}
/// From the writer to the store: always for the few that matter, and on demand for all that are in view.
function drawArrows(ctx) {
  const store = rowOf("store");
  const send = (i, from, to, seq, tone, width) => {
    const lane = rowOf("node", M.incarnations[i].node);
    if (!lane || from === null || !store.Y) return;
    const xa = X(from), xb = X(to);
    if (Math.max(xa, xb) < view.gutter || Math.min(xa, xb) > view.width) return;
    arrow(ctx, xa, lane.y + lane.h - 5, xb, clampY(store, seq) - 9, tone, width);
  };
  let many = 0;
  for (const [list, tone] of [[M.stale, ink.bad], [M.refused, ink.ink]])
    for (const s of list) if (s.r === 0 && s.n <= 3 && many++ < 40) send(s.i, s.issued, s.from, s.seq, tone, 2);
  if (!showMessages || !E) return;
  const [first, last] = inView(E.applies);
  if (last - first > MESSAGES_MOST) return;
  for (let j = first; j < last; j++) {
    const i = E.applies[j], issue = E.res[i] === 0 ? issueOf(i) : -1;
    if (issue >= 0) send(E.inc[i], E.t[issue], E.t[i], E.seq[i], colour(E.inc[i]), 1);
  }
}
const MESSAGES_MOST = 400;
/// Which of these events are in the view: the first, and the first after them.
function inView(list) {
  return [lowerBound(list, i => E.t[i], timeAt(view.gutter)), lowerBound(list, i => E.t[i], timeAt(view.width - view.right) + 1)];
}

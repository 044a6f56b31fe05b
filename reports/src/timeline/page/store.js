
// The store: numbers over time, in the colour of their token. A healthy run is one rising line.
/// One pass over the visible writes: for each leadership and resource, the lowest and highest number in every pixel.
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
    // Stops are visited in order, so no search is needed for each event.
    while (stop < stops.length - 2 && t >= stops[stop + 1]) stop++;
    const u = places[stop] + (t - stops[stop]) / (stops[stop + 1] - stops[stop]) * (places[stop + 1] - places[stop]);
    const x = Math.floor((u - v0) / (v1 - v0) * plotWidth());
    if (x < 0 || x >= width) continue;
    const refused = E.verdict[i] > 1, stale = E.stale[i] > 0, id = (E.inc[i] * 65536 + E.res[i]) * 3 + (refused ? 1 : stale ? 2 : 0);
    let bin = found.get(id);
    if (!bin) found.set(id, bin = { inc: E.inc[i], res: E.res[i], refused, stale, n: new Uint32Array(width), low: new Float64Array(width).fill(NaN), high: new Float64Array(width).fill(NaN) });
    if (!(bin.low[x] <= E.seq[i])) bin.low[x] = E.seq[i];
    if (!(bin.high[x] >= E.seq[i])) bin.high[x] = E.seq[i];
    bin.n[x]++;
    count++;
  }
  return run.bins = { key, by: [...found.values()], count };
}
/// Keeps words in the store's lane from covering each other: first come, first drawn.
function placer(row, mine) {
  const taken = [];
  const free = (x, y, w, h) => x >= view.gutter && x + w <= view.width - view.right && !taken.some(t => x < t.x + t.w + 3 && x + w > t.x - 3 && y < t.y + t.h + 1 && y + h > t.y - 1);
  const clear = (x, y, w, h) => {
    for (const b of mine)
      for (let c = Math.max(0, Math.floor(x - view.gutter)); c <= Math.min(b.low.length - 1, x + w - view.gutter); c += 2)
        for (const d of [c, c + 1]) if (b.low[d] === b.low[d] && row.Y(b.high[d]) - 5 < y + h && row.Y(b.low[d]) + 5 > y) return false;
    return true;
  };
  return { free, clear, take: (x, y, w, h) => taken.push({ x, y, w, h }) };
}
function drawStore(ctx, row) {
  const mine = binned().by.filter(b => b.res === 0), struck = row.node >= 0 && M.shades.some(s => s.kind !== "unborn" && s.nodes.includes(row.node));
  let low = Infinity, high = -Infinity;
  for (const b of mine) for (let x = 0; x < b.low.length; x++) { if (b.low[x] < low) low = b.low[x]; if (b.high[x] > high) high = b.high[x]; }
  if (low > high) { low = 0; high = 1; }
  const pad = Math.max(.6, (high - low) * .08), ribbon = row.y + (view.phone ? 22 : 3);
  const top = ribbon + (struck ? 44 : 26), bottom = row.y + row.h - 8;
  Object.assign(row, { low, high, top, Y: n => bottom - (n - low + pad) / (high - low + 2 * pad) * (bottom - top) });
  const place = placer(row, mine);
  for (const [from, to] of M.dark) {
    const x = X(from), w = X(to) - x;
    if (w < 6) continue;
    ctx.fillStyle = ink.faint;
    ctx.globalAlpha = .8;
    ctx.fillRect(x, top - 4, w, bottom - top + 8);
    ctx.globalAlpha = 1;
  }
  // Drawn over the silence: a fault of the store explains it.
  if (row.node >= 0) drawShades(ctx, row, row.node, row.y, row.h - 1);
  for (const [from, to, length] of M.dark) {
    const a = Math.max(X(from), view.gutter), b = Math.min(X(to), view.width - view.right);
    const words = fitting(ctx, ["dark for " + duration(length), "dark"], b - a - 20), w = widthOf(ctx, words) + 12;
    if (!words || X(to) - X(from) < 6) continue;
    pill(ctx, (a + b - w) / 2, (top + bottom) / 2 - 9, words, ink.page, ink.dim, { border: ink.line });
    place.take((a + b - w) / 2, (top + bottom) / 2 - 9, w, 19);
  }
  drawRibbon(ctx, ribbon);
  if (struck) drawShadeWords(ctx, { y: ribbon + 19 }, row.node);
  for (const part of staleParts(mine)) drawStaleBand(ctx, part, row.Y, bottom);
  drawNumbers(ctx, row, mine, place);
  for (const s of M.stale) if (s.r === 0) drawBackwards(ctx, row, s);
  const parts = staleParts(mine);
  for (const part of parts) if (!part.band) for (const x of part.columns) {
    diamond(ctx, view.gutter + x, clampY(row, part.b.high[x]), 8);
    place.take(view.gutter + x - 10, clampY(row, part.b.high[x]) - 10, 20, 20);
  }
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
    place.take(x - 9, clampY(row, r.seq) - 9, 18, 18);
  }
  drawStoreWords(ctx, row, parts, place, top, bottom);
  drawLabels(ctx, row, mine, place);
}
const clampY = (row, seq) => Math.min(row.y + row.h - 6, Math.max(row.y + 24, row.Y(seq)));
/// The stale writes in view, grouped: near ones form a band, others stand alone.
function staleParts(bins) {
  const parts = [];
  for (const b of bins) {
    if (!b.stale) continue;
    let part = null;
    for (let x = 0; x < b.low.length; x++) {
      if (b.low[x] !== b.low[x]) continue;
      if (!part || x - part.columns.at(-1) > 11) parts.push(part = { b, columns: [], n: 0 });
      part.columns.push(x);
      part.n += b.n[x];
    }
  }
  for (const part of parts) part.band = part.columns.length > 3;
  return parts;
}
/// For writes too close to distinguish: an outlined, hatched band, so that shape as well as colour marks them.
function drawStaleBand(ctx, part, Y, bottom) {
  const { b, columns } = part, x0 = view.gutter + columns[0], x1 = view.gutter + columns.at(-1);
  ctx.fillStyle = ink.bad;
  if (bottom) ctx.fillRect(x0 - 2, bottom + 2, x1 - x0 + 4, 4);
  if (!part.band) return;
  ctx.beginPath();
  ctx.moveTo(x0 - 5, Y(b.low[columns[0]]) + 10);
  for (const x of columns) ctx.lineTo(view.gutter + x, Y(b.high[x]) - 10);
  ctx.lineTo(x1 + 5, Y(b.high[columns.at(-1)]) - 10);
  ctx.lineTo(x1 + 5, Y(b.low[columns.at(-1)]) + 10);
  for (let i = columns.length - 1; i >= 0; i--) ctx.lineTo(view.gutter + columns[i], Y(b.low[columns[i]]) + 10);
  ctx.closePath();
  ctx.globalAlpha = dark ? .3 : .2;
  ctx.fill();
  ctx.globalAlpha = 1;
  ctx.fillStyle = hatching(ctx, "stale");
  ctx.fill();
  ctx.strokeStyle = ink.bad;
  ctx.lineWidth = 1.5;
  ctx.stroke();
}
/// The leadership that the store follows: the newest that has sealed it or written.
function drawRibbon(ctx, y) {
  const mine = M.takeovers.filter(t => t.r === 0), end = Math.min(X(M.end), view.width - view.right);
  mine.forEach((t, place) => {
    const x0 = X(t.t), x1 = place + 1 < mine.length ? X(mine[place + 1].t) : end;
    if (x1 < view.gutter || x0 > view.width) return;
    ctx.fillStyle = colour(t.i);
    ctx.globalAlpha = .22;
    ctx.fillRect(x0, y, x1 - x0, 17);
    ctx.globalAlpha = 1;
    ctx.fillRect(x0, y, 2, 17);
    const left = Math.max(x0, view.gutter) + 7, room = Math.min(x1, view.width - view.right) - left - 3;
    const label = M.incarnations[t.i].label, name = leaderName(t.i);
    const words = fitting(ctx, [`✓ ${name} takes over, ${label}`, `✓ ${name}, ${label}`, `✓ ${name}`, `✓ ${shortLabel(t.i)}`, shortLabel(t.i)], room, 11.5, 600);
    if (words) text(ctx, words, left, y + 9, { size: 11.5, weight: 600 });
  });
}
function drawNumbers(ctx, row, mine, place) {
  const { bins } = run, few = bins.count < 70, thick = bins.count < plotWidth() * .8 ? 5 : 3;
  for (const b of mine) {
    ctx.fillStyle = ctx.strokeStyle = b.stale ? ink.bad : colour(b.inc);
    ctx.lineWidth = 1.6;
    for (let x = 0; x < b.low.length; x++) {
      if (b.low[x] !== b.low[x]) continue;
      const ya = row.Y(b.high[x]), yb = row.Y(b.low[x]);
      if (b.refused || few) {
        ctx.beginPath();
        ctx.arc(view.gutter + x, ya, few ? 5 : 4, 0, 7);
        b.refused ? ctx.stroke() : ctx.fill();
        if (few) place.take(view.gutter + x - 5, ya - 5, 10, 10);
      } else ctx.fillRect(view.gutter + x - thick / 2, ya - thick / 2, thick, Math.max(thick, yb - ya + thick));
    }
  }
}
/// Labels a few writes with their numbers, or many with their leadership, where space is left.
function drawLabels(ctx, row, mine, place) {
  const { bins } = run;
  if (bins.count && bins.count < 24) {
    for (const b of mine) for (let x = 0; x < b.high.length; x++) {
      if (b.high[x] !== b.high[x] || b.refused) continue;
      const words = grouped(b.high[x]), w = widthOf(ctx, words, 11, 400), y = row.Y(b.high[x]), left = view.gutter + x - w / 2;
      const up = [y - 20, y + 7, y - 34, y + 21].find(at => at > row.top - 6 && at + 13 < row.y + row.h && place.free(left, at, w, 12));
      if (up === undefined) continue;
      place.take(left, up, w, 12);
      text(ctx, words, left, up + 6.5, { size: 11, fill: ink.dim });
    }
    return;
  }
  for (const b of mine) {
    if (b.refused || b.stale) continue;
    let from = -1, to = -1;
    for (let x = 0; x < b.low.length; x++) if (b.low[x] === b.low[x]) { if (from < 0) from = x; to = x; }
    const token = M.incarnations[b.inc].token !== "";
    for (const words of [token ? M.incarnations[b.inc].label : leaderName(b.inc), shortLabel(b.inc)]) {
      const w = widthOf(ctx, words, 11.5);
      if (to - from < w + 12) continue;
      let mid = (from + to) >> 1;
      while (mid > from && b.high[mid] !== b.high[mid]) mid--;
      const left = Math.max(view.gutter + 2, view.gutter + mid - 2 - w), y = row.Y(b.high[mid]) - 19;
      if (y < row.top - 4 || !place.free(left, y, w, 14)) continue;
      place.take(left, y, w, 14);
      text(ctx, words, left, y + 7, { size: 11.5, weight: 650, fill: colour(b.inc) });
      break;
    }
  }
}
/// Shows how far back a stale write set the number.
function drawBackwards(ctx, row, s) {
  const x0 = X(s.from);
  if (s.prev <= s.seq || !visible(x0)) return;
  ctx.strokeStyle = ink.bad;
  ctx.lineWidth = 2;
  ctx.setLineDash([2, 3]);
  ctx.beginPath();
  ctx.moveTo(x0, clampY(row, s.prev));
  ctx.lineTo(x0, clampY(row, s.seq));
  ctx.stroke();
  ctx.setLineDash([]);
}
function drawStoreWords(ctx, row, parts, place, top, bottom) {
  const put = (x, seq, choices, tone, must) => {
    // First try to cover nothing; a violation is labelled even if that covers a line.
    for (const strict of must ? [true, false] : [true])
      for (const words of choices) {
        const w = widthOf(ctx, words, 12.5) + 12;
        for (const left of [x + 13, x - 13 - w, Math.min(Math.max(x - w / 2, view.gutter + 2), view.width - view.right - w - 2)])
          for (const dy of [14, -34, 36, -56, 58, -78, 80]) {
            const y = Math.min(Math.max(clampY(row, seq) + dy, top), bottom - 20);
            if (!place.free(left, y, w, 20) || (strict && !place.clear(left, y, w, 20))) continue;
            place.take(left, y, w, 20);
            pill(ctx, left, y, words, ink.panel, tone, { size: 12.5, border: tone });
            return true;
          }
      }
    return false;
  };
  for (const part of parts.slice(0, 60)) {
    const { b, columns, n } = part, a = columns[0], z = columns.at(-1), by = `${leaderName(b.inc)}, ${M.incarnations[b.inc].label}`;
    const begins = M.stale.find(s => s.r === 0 && s.i === b.inc && X(s.from) - view.gutter >= a - 1 && X(s.from) - view.gutter <= z + 1), x = part.band && !begins ? (a + z) >> 1 : a;
    const at = columns[lowerBound(columns, c => c, x)] ?? a, seq = b.high[at], number = seq || !M.foreign ? grouped(seq) : "a write";
    put(view.gutter + at, seq, n > 1
      ? [`ACCEPTED: ${grouped(n)} stale writes of ${by}`, `${grouped(n)} stale, accepted`, "stale, accepted"]
      : begins && begins.n === 1 ? [`ACCEPTED: ${number} of ${by}${begins.prev || !M.foreign ? `; the store was at ${grouped(begins.prev)}` : ""}`, `ACCEPTED: ${number}, stale`, "stale, accepted"]
      : [`ACCEPTED: ${number} of ${by}, stale`, "stale, accepted"], ink.bad, part === parts[0] || part.band);
  }
  for (const r of M.refused.filter(r => r.r === 0 && visible(X(r.from))).slice(0, 60)) {
    const more = r.n > 1 ? `, and ${grouped(r.n - 1)} more` : "";
    put(X(r.from), r.seq, [`refused: ${r.seq || !M.foreign ? grouped(r.seq) : "a write"} of ${leaderName(r.i)}, ${M.incarnations[r.i].label}${more}`, "refused"], ink.ink);
  }
}
/// In a strip, successive leaderships differ by height and shape, not by colour alone.
const FORMS = 3;
const stripY = (row, inc) => row.y + (view.phone ? 28 : row.h / 2) + (inc % FORMS - 1) * (view.phone ? 7 : 8);
function drawForm(ctx, x, y, form, hollow) {
  ctx.beginPath();
  if (form === 0) ctx.arc(x, y, 3.4, 0, 7);
  else if (form === 1) ctx.rect(x - 3, y - 3, 6, 6);
  else { ctx.moveTo(x, y - 4); ctx.lineTo(x + 4, y + 3); ctx.lineTo(x - 4, y + 3); ctx.closePath(); }
  hollow ? ctx.stroke() : ctx.fill();
}
/// Another resource: its writes as dots, with a row for each successive leadership.
function drawStrip(ctx, row) {
  const mine = binned().by.filter(b => b.res === row.r), parts = staleParts(mine);
  for (const part of parts) drawStaleBand(ctx, part, () => stripY(row, part.b.inc), row.y + row.h - 7);
  for (const b of mine) {
    ctx.fillStyle = ctx.strokeStyle = b.stale ? ink.bad : colour(b.inc);
    ctx.lineWidth = 1.6;
    const y = stripY(row, b.inc);
    let first = -1;
    for (let x = 0; x < b.low.length; x++) {
      if (b.low[x] !== b.low[x]) continue;
      if (first < 0) first = x;
      drawForm(ctx, view.gutter + x, y, b.inc % FORMS, b.refused);
    }
    const words = shortLabel(b.inc), w = widthOf(ctx, words, 10);
    if (first > w + 8 && !b.stale) text(ctx, words, view.gutter + first - w - 6, y, { size: 10, weight: 650, fill: colour(b.inc) });
  }
  let right = -1e9;
  for (const part of parts) {
    const a = view.gutter + part.columns[0], z = view.gutter + part.columns.at(-1), words = `${grouped(part.n)} stale, accepted`;
    if (!part.band) for (const x of part.columns) diamond(ctx, view.gutter + x, stripY(row, part.b.inc), 5);
    if (part.band && z - a > widthOf(ctx, words, 11) + 16 && a > right) { pill(ctx, a + 4, row.y + 2, words, ink.panel, ink.bad, { size: 11, border: ink.bad }); right = z; }
  }
}
/// Messages: always for the few that matter, and on demand for all in view.
function drawArrows(ctx) {
  const store = rowOf("store");
  const send = (i, r, from, to, seq, tone, width) => {
    const lane = rowOf("node", M.incarnations[i].node), strip = r ? rows.find(other => other.run === run && other.kind === "strip" && other.r === r) : store;
    if (!lane || from === null || !strip || !store.Y) return;
    const xa = X(from), xb = X(to);
    if (Math.max(xa, xb) < view.gutter || Math.min(xa, xb) > view.width) return;
    arrow(ctx, xa, lane.y + lane.h - 5, xb, r ? stripY(strip, i) - 4 : clampY(store, seq) - 9, tone, width);
  };
  let many = 0;
  for (const [list, tone] of [[M.stale, ink.bad], [M.refused, ink.ink]])
    for (const s of list) if (s.n <= 3 && many++ < 40) send(s.i, s.r, s.issued, s.from, s.seq, tone, 2);
  if (!showMessages || !E) return;
  const [first, last] = inView(E.applies), clients = rowOf("clients");
  if (last - first > MESSAGES_MOST) return;
  for (let j = first; j < last; j++) {
    const i = E.applies[j], issue = issueOf(i), lane = rowOf("node", M.incarnations[E.inc[i]].node);
    if (issue >= 0) send(E.inc[i], E.res[i], E.t[issue], E.t[i], E.seq[i], colour(E.inc[i]), 1);
    const asked = E.client[i] ? requests().get(requestOf(i)) : null;
    if (!asked || !clients || !lane) continue;
    ctx.globalAlpha = .7;
    if (asked.invoke >= 0 && issue >= 0) arrow(ctx, X(E.t[asked.invoke]), clients.y + 6, X(E.t[issue]), lane.y + lane.h - 3, ink.dim, 1);
    if (asked.reply >= 0 && E.verdict[asked.reply] === 0) arrow(ctx, X(E.t[i]), clampY(store, E.seq[i]) + 9, X(E.t[asked.reply]), clients.y + 4, ink.dim, 1);
    ctx.globalAlpha = 1;
  }
}
const MESSAGES_MOST = 400;
/// The range of these events in view: the first, and the first after them.
function inView(list) {
  return [lowerBound(list, i => E.t[i], timeAt(view.gutter)), lowerBound(list, i => E.t[i], timeAt(view.width - view.right) + 1)];
}

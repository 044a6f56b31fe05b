
// The lanes: curves, nodes, grants, service members, clients.
let rows = [], chartHeight = 0;
const BAND = 10;
/// With two runs, each has less space and omits rows without content.
function layout() {
  view.width = Math.max(280, $("chart").clientWidth);
  view.phone = view.width < 560;
  view.gutter = view.phone ? 12 : 118;
  view.right = view.phone ? 8 : 14;
  // A finger needs more space than a pointer.
  view.markAt = matchMedia("(pointer: coarse)").matches ? 12 : 2;
  rows = [];
  chartHeight = each(layoutRun).at(-1) + 2;
}
function layoutRun() {
  let y = rows.length ? rows.at(-1).y + rows.at(-1).h : 0;
  const add = (kind, height, more) => { rows.push({ run, kind, y, h: height, ...more }); y += height; };
  if (TWO) add("title", run.n ? 44 : 26);
  const candidates = M.lanes.filter(l => l.role === "candidate"), services = M.lanes.filter(l => l.role === "service");
  add("curves", view.phone ? 94 : TWO ? 76 : 100);
  add("marks", 46 + view.markAt);
  if (FUTURES) add("futures", view.phone ? 62 : 58);
  const idle = idleOf(candidates), fold = lanes => lanes.length > 1 && add("idle", view.phone ? 24 : 26, { nodes: lanes.map(l => l.node), folds: true });
  const shown = candidates.filter(l => unfolded || idle.length < 2 || !idle.includes(l));
  const tall = printing ? Math.max(24, Math.min(54, 420 / shown.length)) : TWO || shown.length > 5 ? 54 : view.phone ? 62 : 66;
  for (const lane of shown) add("node", tall, { node: lane.node });
  fold(idle);
  const hit = services.length === 1 && (M.shades.some(s => s.nodes.includes(services[0].node)) || clockSteps(services[0].node).length);
  if (M.grants.length) add("grants", (view.phone ? 44 : 36) + (hit ? 20 : 0), { hit, nodes: services.map(l => l.node) });
  const struck = lane => M.shades.some(s => s.nodes.includes(lane.node));
  // Members to which nothing happened have nothing to show, unless another one of them leads at last.
  const changed = M.led.some(l => l[0] !== M.led[0][0]), lively = lane => struck(lane) || (changed && M.led.some(l => l[0] === lane.node));
  const members = services.length > 1 ? services.filter(lively) : M.grants.length || TWO ? [] : services;
  for (const lane of members) add("member", view.phone ? 34 : 26, { node: lane.node });
  const others = services.filter(l => !members.includes(l)).map(l => l.node);
  if (changed && others.length) add("idle", view.phone ? 24 : 26, { nodes: others });
  const store = M.lanes.find(l => l.role === "store");
  const strips = M.strips.filter(r => !TWO || M.stale.some(e => e.r === r));
  const asked = E && (E.unanswered.length > 0 || (showMessages && E.client.some(c => c > 0))), below = strips.length * 28 + (asked ? 26 : 0) + 100;
  // The rest of the window goes to the store's lane, which says most.
  const left = printing ? 300 : innerHeight - $("chart").getBoundingClientRect().top - scrollY - y - below;
  add("store", view.phone ? 180 : TWO ? 160 : Math.max(190, Math.min(420, left)), { node: store ? store.node : -1 });
  for (const r of strips) add("strip", view.phone ? 40 : 28, { r });
  if (asked) add("clients", view.phone ? 40 : 26);
  return y;
}
const rowOf = (kind, node) => rows.find(r => r.run === run && r.kind === kind && (node === undefined || r.node === node));
function draw() {
  const ctx = sized($("lanes"), view.width, chartHeight);
  each(() => drawRun(ctx));
  drawMini();
  // What is under a resting pointer has changed with the view.
  if (pointer) showUnder(); else drawOver();
}
function drawRun(ctx) {
  const curves = rowOf("curves"), markRow = rowOf("marks"), own = rows.filter(row => row.run === run);
  const bottom = own.at(-1).y + own.at(-1).h;
  const labelled = axis(ctx, markRow.y + markRow.h - 11);
  ctx.strokeStyle = ink.faint;
  ctx.lineWidth = 1;
  ctx.beginPath();
  for (const x of labelled) { ctx.moveTo(Math.round(x) + .5, markRow.y + markRow.h); ctx.lineTo(Math.round(x) + .5, bottom); }
  ctx.stroke();
  clipped(ctx, { y: markRow.y + markRow.h, h: bottom - markRow.y - markRow.h }, () => {
    for (const [from, to] of M.several) {
      const x = X(from), w = Math.max(2, X(to) - x);
      ctx.fillStyle = ink.bad;
      ctx.globalAlpha = dark ? .17 : .1;
      ctx.fillRect(x, markRow.y + markRow.h, w, bottom);
      ctx.globalAlpha = 1;
    }
  });
  drawCurves(ctx, curves);
  if (TWO) drawTitle(ctx, rowOf("title"));
  const painters = { futures: drawFutures, node: drawNode, grants: drawGrants, member: drawMember, idle: drawIdle, store: drawStore, strip: drawStrip, clients: drawClients };
  for (const row of own) {
    if (!painters[row.kind]) continue;
    ctx.strokeStyle = ink.line;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(0, row.y + row.h - .5);
    ctx.lineTo(view.width, row.y + row.h - .5);
    ctx.stroke();
    clipped(ctx, row, () => painters[row.kind](ctx, row));
    drawGutter(ctx, row);
  }
  clipped(ctx, { y: own[0].y, h: bottom - own[0].y }, () => drawArrows(ctx));
  drawMarks(ctx, markRow.y + view.markAt);
  drawEnd(ctx, own[0].y, bottom);
}
/// One of two runs may end before the other.
function drawEnd(ctx, y, bottom) {
  const x = X(M.end), right = view.width - view.right;
  if (M.end >= END - PAD || x > right) return;
  const from = Math.max(x, view.gutter), curves = rowOf("curves");
  ctx.fillStyle = ink.faint;
  ctx.fillRect(from, curves.y, right - from, bottom - curves.y);
  ctx.fillStyle = ink.dim;
  if (x >= view.gutter) ctx.fillRect(x - 1, curves.y, 2, bottom - curves.y);
  const words = fitting(ctx, [`the run ends at ${at(M.end, 0)}`, "the run has ended", "ended", "end"], right - from - 10, 13);
  if (words) text(ctx, words, from + 6, curves.y + curves.h / 2, { size: 13, weight: 650 });
}
/// The title of the run whose rows begin here.
function drawTitle(ctx, row) {
  const y = row.y + row.h - 24;
  if (run.n) {
    ctx.fillStyle = ink.line;
    ctx.fillRect(0, row.y + 8, view.width, 3);
  }
  const right = pill(ctx, 0, y, run.letter, ink.ink, ink.page, { size: 13 }) + 8;
  const words = fitted(ctx, `${M.title}: ${M.verdict.toLowerCase()}`, view.width - right, 13);
  text(ctx, words, right, y + 10, { size: 13, weight: 650, fill: M.bad ? ink.bad : ink.ink });
}
function clipped(ctx, row, paint) {
  ctx.save();
  ctx.beginPath();
  ctx.rect(view.gutter, row.y, plotWidth(), row.h);
  ctx.clip();
  paint();
  ctx.restore();
}
function drawGutter(ctx, row) {
  const [title, below] = {
    node: [nodeName(row.node ?? 0), ""],
    grants: [serviceName(row.nodes ?? []), view.phone ? "grants" : "grants leadership"],
    member: [nodeName(row.node ?? 0), ""],
    idle: [idleNames(ctx, row), view.phone ? row.folds ? "idle" : "only followed" : ""],
    store: [row.node >= 0 ? nodeName(row.node) : M.strips.length ? resourceName(0) : "store", "number written"],
    strip: [resourceName(row.r ?? 0), ""],
    futures: ["futures", view.phone ? "drawn anew, that fail" : "that fail"],
    clients: [!showMessages ? view.phone ? "requests without an answer" : "unanswered" : "clients", ""],
  }[row.kind];
  if (view.phone) {
    const words = below && row.kind !== "node" ? title + ": " + below : title;
    pill(ctx, view.gutter - 8, row.y + 1, words, ink.panel, ink.ink, { size: row.kind === "node" ? 12 : 11, border: ink.line });
    return;
  }
  const main = row.kind === "node" || row.kind === "store";
  const room = view.gutter - 12;
  text(ctx, middled(ctx, title, room, main ? 15 : 13), 0, row.y + (main ? 17 : 13), { size: main ? 15 : 13, weight: 650 });
  if (below) text(ctx, fitted(ctx, below, room, 11.5, 400), 0, row.y + (main ? 33 : 27), { size: 11.5, fill: ink.dim });
  if (row.kind === "store" && row.high !== undefined)
    for (const [n, y] of [[row.high, row.Y(row.high)], [row.low, row.Y(row.low)]])
      if (row.high > row.low || n === row.high) text(ctx, grouped(n), view.gutter - 8, Math.max(y, row.y + 48), { size: 11, fill: ink.dim, align: "right" });
}
/// A service's name: its member's name, or the common beginning of its members' names.
function serviceName(nodes) {
  const names = nodes.map(nodeName);
  let n = 0;
  while (names.length > 1 && n < names[0].length && names.every(name => name[n] === names[0][n])) n++;
  return names.length === 1 ? names[0] : !names.length ? "service" : names[0].slice(0, n).replace(/[-_.\s\d]+$/, "") || names.join(", ");
}
/// A node's clock at the cursor or the marked instant, or else how it changes in the view.
function drawClocks(ctx) {
  const t = cursor !== null ? timeAt(cursor) : instant;
  if (!view.phone) for (const row of rows) {
    if (row.kind !== "node" || row.h < 36) continue;
    enter(row.run);
    const [a, b] = (t === null ? [timeAt(view.gutter), timeAt(view.width - view.right)] : [t, t]).map(at => clockOffset(row.node, at));
    if (a === null) continue;
    const words = { size: 11.5, fill: ink.dim };
    text(ctx, "clock " + signed(a), 0, row.y + 33, words);
    if (Math.abs(b - a) > 1e5) text(ctx, "then " + signed(b), 0, row.y + 47, words);
  }
}
/// When a node's clock was set, and its error from then on.
function drawClockSteps(ctx, y, h, node) {
  let right = -1e9;
  for (const c of clockSteps(node)) {
    const x = X(c.t);
    if (!visible(x)) continue;
    ctx.strokeStyle = ink.accent;
    ctx.lineWidth = 2;
    ctx.setLineDash([2, 2]);
    ctx.beginPath();
    ctx.moveTo(x, y);
    ctx.lineTo(x, y + h);
    ctx.stroke();
    ctx.setLineDash([]);
    const words = "clock " + signed(c.offset_us), w = widthOf(ctx, words, 11) + 12, left = x + w + 2 > view.width - view.right ? x - w - 2 : x + 2;
    if (left < right) continue;
    pill(ctx, left, y + h - 19, words, ink.panel, ink.accent, { size: 11, border: ink.accent });
    right = left + w;
  }
}
/// Two step functions: how many believe (dashed) and how many are acting (solid); red if more than one.
function drawCurves(ctx, row) {
  const most = Math.max(2, ...M.believing.map(p => p[1]), ...M.acting.map(p => p[1]));
  const top = row.y + (view.phone ? 36 : 24), bottom = row.y + row.h - 6, Y = n => bottom - n / most * (bottom - top);
  for (let n = 0; n <= most; n++) {
    if (most > 4 && n % Math.ceil(most / 4)) continue;
    ctx.strokeStyle = ink.faint;
    ctx.lineWidth = 1;
    ctx.beginPath();
    ctx.moveTo(view.gutter, Y(n) + .5);
    ctx.lineTo(view.width - view.right, Y(n) + .5);
    ctx.stroke();
    if (!view.phone) text(ctx, "" + n, view.gutter - 8, Y(n), { fill: ink.dim, align: "right" });
  }
  clipped(ctx, row, () => {
    for (const [steps, alpha] of [[M.believing, .14], [M.acting, .75]])
      for (let i = 0; i + 1 < steps.length; i++)
        if (steps[i][1] > 1) {
          const x = X(steps[i][0]);
          ctx.fillStyle = ink.bad;
          ctx.globalAlpha = alpha;
          ctx.fillRect(x, Y(steps[i][1]), Math.max(2, X(steps[i + 1][0]) - x), Y(1) - Y(steps[i][1]));
        }
    ctx.globalAlpha = 1;
    for (const [steps, stroke, width, dash] of [[M.believing, ink.dim, 2, [5, 4]], [M.acting, ink.ink, 2.5, []]]) {
      // A store's log does not say who believed.
      if (steps === M.believing && M.foreign && !M.beliefs.length) continue;
      ctx.strokeStyle = stroke;
      ctx.lineWidth = width;
      ctx.setLineDash(dash);
      ctx.beginPath();
      steps.forEach(([t, n], i) => {
        if (i) ctx.lineTo(X(t), Y(steps[i - 1][1])); else ctx.moveTo(X(t), Y(n));
        ctx.lineTo(X(t), Y(n));
      });
      ctx.stroke();
      ctx.setLineDash([]);
    }
    let right = -1e9;
    for (const [from, to, n, r] of M.several) {
      const a = Math.max(X(from), view.gutter), b = Math.min(X(to), view.width - view.right);
      if (b < a) continue;
      const on = r > 0 ? ` on ${resourceName(r)}` : "";
      for (const words of [`${n} leaders take effect at once${on} for ${duration(to - from)}`, `${n} at once${on}, ${duration(to - from)}`, `${n} at once`]) {
        const w = widthOf(ctx, words, 12.5) + 12, x = Math.max(view.gutter + 2, Math.min((a + b) / 2 - w / 2, view.width - view.right - w));
        if (x < right + 6 || w > Math.max(250, b - a + 160)) continue;
        pill(ctx, x, row.y + (view.phone ? 20 : 2), words, ink.bad, ink.page, { size: 12.5 });
        right = x + w;
        break;
      }
    }
  });
  if (view.phone) {
    text(ctx, "leaders", view.gutter - 6, row.y + 9, { weight: 650 });
    text(ctx, "━ taking effect  ┅ believing", view.gutter + 48, row.y + 9, { fill: ink.dim });
  } else {
    text(ctx, "leaders", 0, row.y + 17, { size: 15, weight: 650 });
    text(ctx, "━ taking effect", 0, row.y + 36, { size: 11.5 });
    text(ctx, "┅ believing", 0, row.y + 52, { size: 11.5, fill: ink.dim });
  }
}
function drawShades(ctx, row, node, y, h) {
  for (const s of M.shades) {
    if (!s.nodes.includes(node)) continue;
    const x = X(s.from), w = Math.max(2, X(s.to) - x);
    if (x > view.width || x + w < view.gutter) continue;
    if (s.kind === "unborn") {
      ctx.fillStyle = ink.faint;
      ctx.fillRect(x, row.y, w, row.h - 1);
      if (w > 84 && !view.phone) text(ctx, s.text, Math.max(x, view.gutter) + 6, row.y + row.h / 2, { fill: ink.dim });
      continue;
    }
    ctx.fillStyle = hatching(ctx, s.kind);
    ctx.fillRect(x, y, w, h);
    ctx.fillStyle = ink.hatch;
    ctx.fillRect(x, y, 1, h);
    ctx.fillRect(x + w - 1, y, 1, h);
  }
}
/// A fault in few words and as a sign, for narrow places; the hover text has the sentence.
const SHORT = { pause: ["paused", "‖"], down: ["down", "×"], cut: ["cut off", "cut", "//"], other: ["fault", "!"] };
/// The faults of a node, in words; overlapping ones are left to the hover text.
function drawShadeWords(ctx, row, node) {
  let right = -1e9;
  for (const s of M.shades) {
    if (s.kind === "unborn" || !s.nodes.includes(node)) continue;
    const x = Math.max(X(s.from), view.gutter + (view.phone ? 34 : 0), right + 2), room = Math.min(X(s.to), view.width - view.right) - x;
    if (X(s.to) < view.gutter || X(s.from) > view.width) continue;
    const own = s.text.length < 14 ? [s.text] : [];
    const words = fitting(ctx, [s.text.replace(/ for [\d.]+ m?s$/, ""), ...own, ...SHORT[s.kind] ?? SHORT.other], Math.max(room, x > right + 24 ? 24 : 0) - 14, 11.5);
    if (words) right = x + 2 + pill(ctx, x + 2, row.y + 1, words, ink.ink, ink.page, { size: 11.5 });
  }
}
function drawNode(ctx, row) {
  const node = row.node, top = row.y + 26, height = row.h - 31;
  const mine = list => list.filter(b => (M.incarnations[b.i]?.node ?? b.node) === node);
  for (const s of M.shades) if (s.kind === "unborn") drawShades(ctx, row, s.nodes.includes(node) ? node : -1, row.y, row.h);
  for (const b of mine(M.beliefs)) {
    const x = X(b.from), w = Math.max(2, X(b.to) - x);
    ctx.fillStyle = ctx.strokeStyle = colour(b.i);
    ctx.globalAlpha = dark ? .26 : .2;
    ctx.fillRect(x, top, w, height);
    ctx.globalAlpha = 1;
    ctx.lineWidth = 1.5;
    ctx.setLineDash(dashes(b.i));
    ctx.strokeRect(x + .75, top + .75, Math.max(.5, w - 1.5), height - 1.5);
    ctx.setLineDash([]);
  }
  for (const g of M.grants.filter(g => g.node === node)) {
    const x = X(g.from);
    ctx.fillStyle = g.i === null ? ink.dim : colour(g.i);
    ctx.fillRect(x, top - 5, Math.max(2, X(g.to) - x), 3);
    ctx.fillRect(x, top - 6, 1.5, 5);
    if (g.why) ctx.fillRect(X(g.to) - 1.5, top - 6, 1.5, 5);
  }
  for (const e of mine(M.effects)) {
    const bar = e.r === 0 ? Math.min(BAND, height * .4) : Math.min(BAND, height * .4) / 2, y = top + height;
    ctx.fillStyle = colour(e.i);
    ctx.fillRect(X(e.from), y - 3, X(e.to) - X(e.from), 3);
    for (const [from, to] of e.runs) ctx.fillRect(X(from), y - bar, Math.max(3, X(to) - X(from)), bar);
  }
  drawShades(ctx, row, node, row.y, row.h - 1);
  for (const b of mine(M.beliefs)) drawBelief(ctx, b, top, height);
  drawShadeWords(ctx, row, node);
  drawClockSteps(ctx, row.y, row.h - 1, node);
}
/// A belief's label, with red dashes from where it has lost its grounds.
function drawBelief(ctx, b, top, height) {
  const x0 = Math.max(X(b.from), view.gutter), x1 = Math.min(X(b.to), view.width - view.right);
  let right = x0;
  for (const words of [M.incarnations[b.i].label, shortLabel(b.i)])
    if (widthOf(ctx, words) + 16 < x1 - x0) { right = x0 + 3 + pill(ctx, x0 + 3, top + 3, words, colour(b.i), onColour()); break; }
  // There is space for a token only.
  const token = shortLabel(b.i), w = widthOf(ctx, token, 10.5);
  if (right === x0 && w + 2 <= x1 - x0) text(ctx, token, (x0 + x1 - w) / 2, top + 11, { size: 10.5, weight: 650 });
  if (!b.outlived || b.outlived[0] >= b.to) return;
  const from = Math.max(X(b.outlived[0]), view.gutter);
  ctx.strokeStyle = ink.bad;
  ctx.lineWidth = 2;
  ctx.setLineDash([6, 4]);
  ctx.strokeRect(from + 1, top + 1, Math.max(1, x1 - from - 2), height - 2);
  ctx.setLineDash([]);
  const start = Math.max(from + 4, right + 4), grant = b.outlived[2] === "grant", never = b.outlived[2] === "never";
  for (const words of [never ? "believes: the service never granted it" : grant ? "still believes: its grant has ended" : "still believes: another was elected", never ? "never granted" : "still believes", "!"])
    if (widthOf(ctx, words) + 15 < x1 - start) { pill(ctx, start, top + 3, words, ink.panel, ink.bad, { border: ink.bad }); break; }
}
/// The holders of leadership, by the service's own state.
function drawGrants(ctx, row) {
  const top = row.y + (view.phone ? 21 : 5), height = row.h - (view.phone ? 26 : 11) - (row.hit ? 20 : 0);
  if (row.nodes.length === 1) drawShades(ctx, row, row.nodes[0], row.y, row.h - 1);
  for (const g of M.grants) {
    const x = X(g.from), w = Math.max(2, X(g.to) - x);
    ctx.fillStyle = ctx.strokeStyle = g.i === null ? ink.dim : colour(g.i);
    ctx.globalAlpha = .22;
    ctx.fillRect(x, top, w, height);
    ctx.globalAlpha = 1;
    ctx.fillRect(x, top, 2, height);
    if (g.why) ctx.fillRect(x + w - 2, top, 2, height);
    const left = Math.max(x, view.gutter) + 6, room = Math.min(x + w, view.width - view.right) - left - 4;
    const name = shortName(nodeName(g.node)), who = `${name}${g.token ? ": token " + g.token : ""}`, why = g.why ? `, until ${g.why}` : "";
    for (const words of [who + why, who, name, g.token ? g.token : ""])
      if (widthOf(ctx, words, 12, 600) <= room) { text(ctx, words, left, top + height / 2 + .5, { weight: 600 }); break; }
  }
  if (row.nodes.length !== 1) return;
  drawShadeWords(ctx, { y: row.y + row.h - 22 }, row.nodes[0]);
  drawClockSteps(ctx, row.y, row.h - 1, row.nodes[0]);
}
function drawClients(ctx, row) {
  const top = row.y + (view.phone ? 21 : 4), height = row.h - (view.phone ? 25 : 8);
  ctx.fillStyle = ink.dim;
  const from = timeAt(view.gutter), until = timeAt(view.width - view.right), [head, tail] = inView(E.applies);
  if (showMessages && tail - head <= MESSAGES_MOST) for (const { invoke, reply, read } of requests().values()) {
    if (invoke < 0 || reply < 0 || E.t[reply] < from || E.t[invoke] > until) continue;
    const a = X(E.t[invoke]), b = X(E.t[reply]);
    ctx.fillRect(a, row.y + row.h - (read ? 6 : 10), Math.max(2, b - a), 2);
  }
  let last = -1e9;
  const first = lowerBound(E.unanswered, i => E.t[i], timeAt(view.gutter));
  for (let j = first; j < E.unanswered.length; j++) {
    const x = X(E.t[E.unanswered[j]]) | 0;
    if (x > view.width) break;
    if (x > last) ctx.fillRect(last = x, top, 1.5, height);
  }
}

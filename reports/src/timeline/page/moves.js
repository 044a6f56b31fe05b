
// Moving about: keys, pointer, links, search; and what the pointer is on.
let frame = 0, animation = 0, selected = -1, showMessages = false, cursor = null, link = null;
function redraw() {
  if (!frame) frame = requestAnimationFrame(() => { frame = 0; draw(); });
}
const reducedMotion = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
function go(a, b, smooth = true) {
  [a, b] = clamped(a, b);
  cancelAnimationFrame(animation);
  if (!smooth || reducedMotion()) { v0 = a; v1 = b; redraw(); settle(); return; }
  const [a0, b0, began] = [v0, v1, performance.now()];
  const step = () => {
    const part = Math.min(1, (performance.now() - began) / 220), eased = 1 - (1 - part) ** 3;
    v0 = a0 + (a - a0) * eased;
    v1 = b0 + (b - b0) * eased;
    draw();
    if (part < 1) animation = requestAnimationFrame(step); else settle();
  };
  step();
}
let settling = 0;
/// The view stays for a moment: the address says it, and the table of events follows.
function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    const hash = `#t=${(toTime(v0) / 1e6).toFixed(6)}..${(toTime(v1) / 1e6).toFixed(6)}` + (selected >= 0 ? "&m=" + (selected + 1) : "") + (scale === "true" ? "&scale=true" : "");
    try { history.replaceState(null, "", hash); } catch { /* some viewers forbid it, and all else works */ }
    fillEvents();
    const many = showMessages && E && Math.max(...each(() => { const [first, last] = inView(E.applies); return last - first; }));
    $("messages").textContent = many > MESSAGES_MOST ? "Messages: zoom in" : "Messages";
  }, 120);
}
function zoom(factor, x = view.gutter + plotWidth() / 2) {
  const u = v0 + (x - view.gutter) / plotWidth() * (v1 - v0);
  go(u - (u - v0) * factor, u + (v1 - u) * factor, false);
}
function pan(part) { go(v0 + part * (v1 - v0), v1 + part * (v1 - v0), false); }
const say = words => $("live").textContent = words;
function pick(place, move = true) {
  if (!MOMENTS.length) return;
  selected = Math.max(0, Math.min(MOMENTS.length - 1, place));
  const m = MOMENTS[selected], u = toPlace(m.t), width = v1 - v0;
  [...$("list").children].forEach((item, i) => i === selected ? item.firstChild.setAttribute("aria-current", "true") : item.firstChild.removeAttribute("aria-current"));
  const item = $("list").children[selected], aside = document.querySelector("aside");
  if (aside.scrollHeight > aside.clientHeight + 4) aside.scrollTop = item.offsetTop - aside.offsetTop - aside.clientHeight / 2;
  say(`${m.n}. ${at(m.t)}: ${inRun(m)}${m.text}`);
  if (move && scale === "true" && width > (END - BEGIN) * .12) go(u - (END - BEGIN) * .03, u + (END - BEGIN) * .03);
  else if (move && (u < v0 + width * .06 || u > v1 - width * .06)) go(u - width / 2, u + width / 2);
  else { redraw(); settle(); }
}
function jump(t) {
  const place = MOMENTS.findIndex(m => m.t === t);
  if (place >= 0) return pick(place);
  const u = toPlace(t), width = Math.min(v1 - v0, (END - BEGIN) / 8);
  go(u - width / 2, u + width / 2);
}
function nextViolation() {
  const next = MOMENTS.findIndex((m, i) => i > selected && m.k === "bad");
  const place = next >= 0 ? next : MOMENTS.findIndex(m => m.k === "bad");
  if (place >= 0) pick(place); else say(TWO ? "There is no violation in these runs." : "There is no violation in this run.");
}
function rescale(to) {
  const [from, until] = [toTime(v0), toTime(v1)];
  setScale(to);
  [v0, v1] = clamped(toPlace(from), toPlace(until));
  redraw();
  settle();
}
function flipTheme() {
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  readTheme();
  fillKey();
  redraw();
}
function toggleMessages() {
  showMessages = !showMessages;
  $("messages").setAttribute("aria-pressed", showMessages);
  redraw();
  settle();
}
/// Which events a search finds: those of a request, or the writes with a number; each with its run.
const eventsOf = words => each(() => eventsOfRun(words)).flat();
function eventsOfRun(words) {
  const request = words.match(/^(.*):(\d+)$/), found = [];
  if (!request && !/^\d+$/.test(words)) return found;
  for (let i = 0; i < E.n; i++) {
    const hit = request
      ? E.client[i] && E.number[i] === +request[2] && nodeName(E.client[i] - 1) === request[1]
      : E.kind[i] === KIND.APPLY && E.res[i] === 0 && E.seq[i] === +words;
    if (hit) found.push([run, i]);
  }
  return found;
}
let search = { words: "", place: 0 };
function find(words) {
  words = words.trim();
  if (!words) return;
  if (/^\d+\.\d+( ?s)?$/.test(words)) return jump(parseFloat(words) * 1e6);
  search = { words, place: search.words === words ? search.place + 1 : 0 };
  const events = eventsOf(words);
  if (events.length) {
    const [of, i] = events[search.place % events.length], u = toPlace(of.E.t[i]), width = Math.min(v1 - v0, (END - BEGIN) / 10);
    go(u - width / 2, u + width / 2);
    return say(`${search.place % events.length + 1} of ${plural(events.length, "event")} found: ${lineIn(of, i)}`);
  }
  const has = m => m.text.toLowerCase().includes(words.toLowerCase());
  let place = MOMENTS.findIndex((m, i) => i > selected && has(m));
  if (place < 0) place = MOMENTS.findIndex(has);
  if (place >= 0) pick(place); else say(`Nothing found for ${words}.`);
}
/// The write nearest to a point of the store's lane or of a strip; -1 when none is near.
function nearestWrite(row, x, y) {
  const middle = lowerBound(E.applies, i => E.t[i], timeAt(x)), r = row.kind === "store" ? 0 : row.r;
  let best = -1, least = 40;
  for (let j = Math.max(0, middle - 600); j < Math.min(E.applies.length, middle + 600); j++) {
    const i = E.applies[j];
    if (E.res[i] !== r) continue;
    let far = Math.hypot(X(E.t[i]) - x, row.kind === "store" ? clampY(row, E.seq[i]) - y : 0);
    // What was refused or wrong is what people point at.
    if (E.verdict[i] > 1 || M.stale.some(s => s.i === E.inc[i] && s.r === r && s.from === E.t[i])) far -= 14;
    if (far < least) { least = far; best = i; }
  }
  return best;
}
function hover(x, y, px, py) {
  cursor = x >= view.gutter && x <= view.width - view.right ? x : null;
  link = null;
  const row = rows.find(r => y >= r.y && y < r.y + r.h);
  if (row) enter(row.run);
  const mark = row && row.kind === "marks" && run.marks.find(m => x >= m.x && x <= m.x + m.w);
  let html = "";
  if (mark) html = MOMENTS.slice(mark.first - 1, mark.last).filter(m => m.runs.includes(run.n)).slice(0, 12).map(m => `<b>${m.n}</b> ${at(m.t)} ${escape(m.text)}`).join("<br>");
  else if (row && cursor !== null && E) {
    const t = timeAt(x);
    if (row.kind === "store" || row.kind === "strip") {
      const i = nearestWrite(row, x, y);
      if (i >= 0) {
        html = writeWords(i);
        const issue = issueOf(i), lane = rowOf("node", M.incarnations[E.inc[i]].node);
        if (issue >= 0 && lane) link = [X(E.t[issue]), lane.y + lane.h - 5, X(E.t[i]), row.kind === "store" ? clampY(row, E.seq[i]) : row.y + row.h / 2];
      } else if (row.node >= 0) html = M.shades.filter(s => s.nodes.includes(row.node) && s.from <= t && s.to >= t).map(s => escape(s.text)).join("<br>");
    } else if (row.kind === "node") html = `<b>${escape(nodeName(row.node))} at ${at(t, v1 - v0 < 5e6 ? 6 : 3)}</b><br>` + nodeWords(row.node, t).join("<br>");
    else if (row.kind === "member") html = `<b>${escape(nodeName(row.node))} at ${at(t)}</b><br>` + (M.shades.filter(s => s.nodes.includes(row.node) && s.from <= t && s.to >= t).map(s => escape(s.text)).join("<br>") || "runs");
    else if (row.kind === "grants") html = M.grants.filter(g => g.from <= t && g.to >= t).map(g => `granted to <b>${escape(nodeName(g.node))}</b>${g.token !== "0" ? " with token " + g.token : ""}: ${at(g.from)} – ${at(g.to)}${g.why ? "<br>" + g.why : ""}`).join("<br>") || "granted to nobody";
    else if (row.kind === "curves") html = `${at(t)}: ${stepAt(M.believing, t)} believing, ${stepAt(M.acting, t)} taking effect`;
  }
  drawOver();
  showTip(html, px, py);
}
function showTip(html, px, py) {
  const tip = $("tip");
  tip.style.display = html ? "block" : "none";
  if (!html) return;
  tip.innerHTML = html;
  const w = tip.offsetWidth, h = tip.offsetHeight;
  tip.style.left = Math.min(innerWidth - w - 8, Math.max(8, px + 14)) + "px";
  tip.style.top = (py + 18 + h > innerHeight ? Math.max(4, py - h - 12) : py + 18) + "px";
}
let selection = null;
/// What changes with the pointer, on a canvas of its own.
function drawOver() {
  const ctx = sized($("over"), view.width, chartHeight);
  const upright = (x, tone, dash) => {
    ctx.strokeStyle = tone;
    ctx.lineWidth = 1;
    ctx.setLineDash(dash);
    ctx.beginPath();
    ctx.moveTo(Math.round(x) + .5, 22);
    ctx.lineTo(Math.round(x) + .5, chartHeight);
    ctx.stroke();
    ctx.setLineDash([]);
  };
  if (selected >= 0 && visible(X(MOMENTS[selected].t))) upright(X(MOMENTS[selected].t), ink.accent, [4, 3]);
  if (selection) {
    ctx.fillStyle = ink.accent;
    ctx.globalAlpha = .18;
    ctx.fillRect(Math.min(...selection), 0, Math.abs(selection[0] - selection[1]), chartHeight);
    ctx.globalAlpha = 1;
  }
  if (link) {
    arrow(ctx, ...link, ink.ink);
    ctx.beginPath();
    ctx.arc(link[2], link[3], 7, 0, 7);
    ctx.stroke();
  }
  if (cursor === null) return;
  upright(cursor, ink.dim, []);
  const words = at(timeAt(cursor), v1 - v0 < 2e5 ? 6 : v1 - v0 < 5e6 ? 4 : 3), w = widthOf(ctx, words) + 12;
  for (const row of rows) if (row.kind === "marks") pill(ctx, Math.min(Math.max(cursor - w / 2, 0), view.width - w), row.y + 24, words, ink.ink, ink.page);
}
function drawMini() {
  const own = 18, height = 8 + own * RUNS.length, ctx = sized($("mini"), view.width, height), place = t => view.gutter + (t - BEGIN) / (END - BEGIN) * plotWidth();
  ctx.fillStyle = ink.faint;
  ctx.fillRect(view.gutter, 4, plotWidth(), height - 8);
  each(() => {
    const y = 4 + own * run.n;
    for (const e of M.effects) if (e.r === 0) { ctx.fillStyle = colour(e.i); ctx.fillRect(place(e.from), y + 4, Math.max(1, place(e.to) - place(e.from)), own - 8); }
    for (const [from, to] of M.several) { ctx.fillStyle = ink.bad; ctx.fillRect(place(from), y + 1, Math.max(2, place(to) - place(from)), own - 2); }
    if (TWO && !view.phone) text(ctx, run.letter, view.gutter - 8, y + own / 2, { size: 11.5, fill: ink.dim, align: "right" });
  });
  ctx.strokeStyle = ink.ink;
  ctx.lineWidth = 2;
  const [a, b] = [place(toTime(v0)), place(toTime(v1))];
  ctx.strokeRect(a, 3, Math.max(4, b - a), height - 6);
  if (!view.phone) text(ctx, TWO ? "whole runs" : "whole run", 0, height / 2, { size: 11.5, fill: ink.dim });
}


// Moving around: keys, pointer, links, search; and what is under the pointer.
let frame = 0, animation = 0, selected = -1, showMessages = false, cursor = null, link = null;
// A marked instant, an event found by a search, and where the pointer rests.
let instant = null, found = null, pointer = null;
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
/// The address of the view and of an instant in it.
const hashOf = t => `#t=${stamp(toTime(v0))}..${stamp(toTime(v1))}` + (t === null ? "" : `&at=${stamp(t)}`) +
  (selected >= 0 ? "&m=" + (selected + 1) : "") + (scale === "true" ? "&scale=true" : "") + (GROUP && GROUP.place !== "0" ? "&group=" + GROUP.n : "");
/// Copies a link to the cursor's time, or else the marked instant, or else the selected moment.
function copyLink() {
  const t = cursor !== null ? timeAt(cursor) : instant ?? MOMENTS[selected]?.t ?? null, href = location.href.split("#")[0] + hashOf(t);
  const done = () => answer(t === null ? "Copied a link to this view" : `Copied a link to ${at(t, 6)}`), refused = () => answer(href);
  if (navigator.clipboard) navigator.clipboard.writeText(href).then(done, refused); else refused();
}
function mark(t) {
  instant = t;
  drawOver();
  settle();
}
let settling = 0;
/// Once the view rests: updates the address and the table of events.
function settle() {
  clearTimeout(settling);
  settling = setTimeout(() => {
    try { history.replaceState(null, "", hashOf(instant)); } catch { /* some viewers forbid it; everything else works */ }
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
/// The result of a search, on the page and for screen readers.
function answer(words) {
  $("answer").textContent = words;
  say(words);
}
function highlight() {
  [...$("list").children].forEach((item, i) => i === selected ? item.firstChild.setAttribute("aria-current", "true") : item.firstChild.removeAttribute("aria-current"));
}
/// The next or previous moment: relative to the selected moment if it is in view, or else to the cursor or the middle
/// of the view.
function neighbour(step, fits = () => true) {
  const list = [...MOMENTS.keys()].filter(i => fits(MOMENTS[i]));
  if (selected >= 0 && visible(X(MOMENTS[selected].t))) return step > 0 ? list.find(i => i > selected) : list.findLast(i => i < selected);
  const whole = v0 <= BEGIN && v1 >= END, t = cursor !== null ? timeAt(cursor) : instant ?? (whole ? BEGIN : toTime((v0 + v1) / 2));
  return step > 0 ? list.find(i => MOMENTS[i].t > t) : list.findLast(i => MOMENTS[i].t < t);
}
function step(by) {
  const to = neighbour(by);
  if (to !== undefined) pick(to); else answer(by > 0 ? "There is no later moment" : "There is no earlier moment");
}
function pick(place, move = true) {
  if (!MOMENTS.length) return;
  instant = found = null;
  $("answer").textContent = "";
  selected = Math.max(0, Math.min(MOMENTS.length - 1, place));
  const m = MOMENTS[selected], u = toPlace(m.t), width = v1 - v0;
  highlight();
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
  instant = t;
  const u = toPlace(t), width = Math.min(v1 - v0, (END - BEGIN) / 8);
  go(u - width / 2, u + width / 2);
}
function nextViolation() {
  const next = neighbour(1, m => m.k === "bad"), place = next ?? MOMENTS.findIndex(m => m.k === "bad");
  if (place >= 0) pick(place); else answer(TWO ? "There is no violation in these runs." : "There is no violation in this run.");
}
function rescale(to) {
  const [from, until] = [toTime(v0), toTime(v1)];
  setScale(to);
  [v0, v1] = clamped(toPlace(from), toPlace(until));
  fillKey();
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
  layout();
  fillKey();
  redraw();
  settle();
}
/// The events that a search finds: those of a request, or writes with a number; each with its run.
const eventsOf = words => each(() => eventsOfRun(words)).flat();
function eventsOfRun(words) {
  const request = words.match(/^(.*):(\d+)$/), found = [];
  if (!request && !/^\d+$/.test(words)) return found;
  for (let i = 0; i < E.n; i++) {
    const hit = request
      ? E.client[i] && E.number[i] === +request[2] && nodeName(E.client[i] - 1) === request[1]
      : E.kind[i] === KIND.APPLY && E.seq[i] === +words;
    if (hit) found.push([run, i]);
  }
  return found;
}
let search = { words: "", place: 0 };
function find(words) {
  words = words.trim();
  found = null;
  $("answer").textContent = "";
  if (!words) return drawOver();
  search = { words, place: search.words === words ? search.place + 1 : 0 };
  const stretches = meant(words);
  if (stretches) return findTime(words, stretches);
  const lower = words.toLowerCase(), has = text => text.toLowerCase().includes(lower);
  const moments = [...MOMENTS.keys()].filter(i => has(MOMENTS[i].text));
  let events = eventsOf(words);
  if (!events.length && !moments.length) events = each(() => rareEvents().filter(e => has(e.text)).map(e => [run, e.i])).flat();
  const all = events.length || moments.length, place = search.place % all, more = all > 1 ? ", Enter for the next" : "";
  if (!all) return answer(`Nothing found for “${words}”`);
  if (events.length) {
    const [of, i] = events[place], u = toPlace(of.E.t[i]), width = Math.min(v1 - v0, (END - BEGIN) / 10);
    found = { of, i };
    go(u - width / 2, u + width / 2);
    return answer(`${place + 1} of ${plural(all, "event")} found${more}: ${lineIn(of, i)}`);
  }
  pick(moments[place]);
  $("answer").textContent = `${place + 1} of ${plural(all, "moment")} found${more}`;
}
/// Goes to a time: to the moments in the intervals that it may mean, or else to the first event in them.
function findTime(words, stretches) {
  const first = stretches.find(([, to]) => to >= BEGIN)?.[0] ?? Infinity;
  if (first > END || stretches[0][1] < BEGIN) return answer(`The run has no ${words}: it ${M.clock ? `goes from ${at(BEGIN + PAD)} to` : "ends at"} ${at(END - PAD)}`);
  const moments = [...MOMENTS.keys()].filter(i => stretches.some(([from, to]) => MOMENTS[i].t >= from && MOMENTS[i].t <= to && to > from));
  if (moments.length) {
    pick(moments[search.place % moments.length]);
    $("answer").textContent = `${search.place % moments.length + 1} of ${plural(moments.length, "moment")} at ${words}${moments.length > 1 ? ", Enter for the next" : ""}`;
    return;
  }
  const inside = ([from, to]) => { const i = lowerBound(E.t, t => t, from); return i < E.n && E.t[i] <= to ? E.t[i] : null; };
  const t = stretches.map(inside).find(t => t !== null) ?? Math.max(first, BEGIN);
  jump(t);
  answer(`At ${at(t, 6)}`);
}
/// The write nearest to a point of the store's lane or of a strip; -1 if none is near.
function nearestWrite(row, x, y) {
  const middle = lowerBound(E.applies, i => E.t[i], timeAt(x)), r = row.kind === "store" ? 0 : row.r;
  let best = -1, least = 40;
  for (let j = Math.max(0, middle - 600); j < Math.min(E.applies.length, middle + 600); j++) {
    const i = E.applies[j];
    if (E.res[i] !== r) continue;
    let far = Math.hypot(X(E.t[i]) - x, row.kind === "store" ? clampY(row, E.seq[i]) - y : 0);
    // Prefer refused and stale writes: people point at those.
    if (E.verdict[i] > 1 || M.stale.some(s => s.i === E.inc[i] && s.r === r && s.from === E.t[i])) far -= 14;
    if (far < least) { least = far; best = i; }
  }
  return best;
}
function hover(x, y, px, py) {
  pointer = [x, y, px, py];
  showUnder();
}
function leave() {
  pointer = cursor = link = null;
  showTip("");
  drawOver();
}
const shadesAt = (node, t) => M.shades.filter(s => s.nodes.includes(node) && s.from <= t && s.to >= t).map(s => escape(s.text)).join("<br>");
/// The rare events near a place, as lines of the history.
function eventsNear(x, fits) {
  const near = rareEvents().filter(e => Math.abs(X(e.t) - x) < 6 && fits(e)).slice(0, 3);
  return near.map(e => `<code>${escape(e.text)}</code>`).join("");
}
function storeWords(row, x, y, t) {
  const i = nearestWrite(row, x, y), seals = eventsNear(x, e => e.event === "seal" && e.text.includes(JSON.stringify(resourceName(row.kind === "store" ? 0 : row.r))));
  if (i >= 0) {
    const issue = issueOf(i), lane = rowOf("node", M.incarnations[E.inc[i]].node);
    if (issue >= 0 && lane) link = [X(E.t[issue]), lane.y + lane.h - 5, X(E.t[i]), row.kind === "store" ? clampY(row, E.seq[i]) : stripY(row, E.inc[i])];
    return writeWords(i) + seals;
  }
  const r = row.kind === "store" ? 0 : row.r, follows = M.takeovers.findLast(o => o.r === r && o.t <= t);
  let last = lowerBound(E.applies, j => E.t[j], t + 1) - 1;
  for (let tries = 0; last >= 0 && tries < 20000 && (E.res[E.applies[last]] !== r || E.verdict[E.applies[last]]); tries++) last--;
  const number = last >= 0 && E.res[E.applies[last]] === r && !E.verdict[E.applies[last]] ? `last accepted: ${grouped(E.seq[E.applies[last]])} at ${at(E.t[E.applies[last]])}` : "nothing accepted so far";
  return [`<b>${escape(resourceName(r))} at ${at(t)}</b>`, number, follows ? `follows ${escape(leaderName(follows.i))}, ${escape(M.incarnations[follows.i].label)}` : "", row.node >= 0 ? shadesAt(row.node, t) : ""].filter(Boolean).join("<br>") + seals;
}
function laneWords(row, x, y) {
  const t = timeAt(x), name = row.node >= 0 ? nodeName(row.node) : "", mine = e => e.about.has(name);
  if (row.kind === "store" || row.kind === "strip") return storeWords(row, x, y, t);
  if (row.kind === "node") return `<b>${escape(name)} at ${at(t, v1 - v0 < 5e6 ? 6 : 3)}</b><br>` + nodeWords(row.node, t).join("<br>") + eventsNear(x, e => e.event !== "seal" && mine(e));
  if (row.kind === "member") return `<b>${escape(name)} at ${at(t)}</b><br>` + leadsAt(row.node, t) + "<br>" + (shadesAt(row.node, t) || "runs") + clockLine(row.node, t) + eventsNear(x, mine);
  if (row.kind === "idle") return row.nodes.map(node => `<b>${escape(nodeName(node))}</b>: ${row.folds ? nodeWords(node, t).join(", ") : leadsAt(node, t)}`).join("<br>");
  if (row.kind === "grants") return `<b>${escape(serviceName(row.nodes))} at ${at(t)}</b><br>` + (M.grants.filter(g => g.from <= t && g.to >= t).map(g => `granted to <b>${escape(nodeName(g.node))}</b>${g.token ? " with token " + g.token : ""}: ${at(g.from)} – ${at(g.to)}${g.why ? "<br>" + g.why : ""}`).join("<br>") || "granted to nobody") +
    M.led.filter(l => l[1] <= t && l[2] >= t).map(l => `<br>${escape(nodeName(l[0]))} leads the members`).join("") + row.nodes.map(node => (shadesAt(node, t) && "<br>" + shadesAt(node, t)) + clockLine(node, t)).join("") + eventsNear(x, e => /^grant/.test(e.event) || row.nodes.some(node => e.about.has(nodeName(node))));
  if (row.kind === "clients") {
    const place = lowerBound(E.unanswered, i => E.t[i], t), i = [E.unanswered[place - 1], E.unanswered[place]].filter(i => i !== undefined).sort((a, b) => Math.abs(E.t[a] - t) - Math.abs(E.t[b] - t))[0];
    if (i === undefined || Math.abs(X(E.t[i]) - x) > 8) return `${at(t)}: no request without an answer here`;
    const asked = requests().get(requestOf(i));
    return `<b>no answer to ${escape(nodeName(E.client[i] - 1))}:${E.number[i]}</b>` + [asked?.invoke ?? -1, i].filter(i => i >= 0).map(i => `<code>${escape(line(i))}</code>`).join("");
  }
  if (row.kind === "futures") return futuresWords(t);
  return row.kind === "curves" ? `${at(t)}: ${stepAt(M.believing, t)} believing, ${stepAt(M.acting, t)} taking effect` : "";
}
function clockLine(node, t) {
  const offset = clockOffset(node, t);
  return offset === null ? "" : `<br>its own clock: ${signed(offset)}`;
}
function markWords(mark) {
  const all = MOMENTS.slice(mark.first - 1, mark.last).filter(m => m.runs.includes(run.n)).slice(0, 12);
  const events = E && all.length < 4 ? all.flatMap(m => rareEvents().filter(e => e.t === m.t).slice(0, 2).map(e => `<code>${escape(e.text)}</code>`)).join("") : "";
  return all.map(m => `<b>${m.n}</b> ${at(m.t)} ${escape(m.text)}`).join("<br>") + events;
}
/// Shows what is under the pointer, also after the view has moved under it.
function showUnder() {
  const [x, y, px, py] = pointer, row = rows.find(r => y >= r.y && y < r.y + r.h);
  cursor = x >= view.gutter && x <= view.width - view.right ? x : null;
  link = null;
  if (row) enter(row.run);
  const on = row && markAt(row, x, y);
  let html = "";
  if (on) html = markWords(on);
  else if (row && cursor !== null && E) html = laneWords(row, x, y);
  else if (row && x < view.gutter && { node: 1, member: 1, idle: 1, grants: 1, store: 1, strip: 1 }[row.kind])
    html = `<b>${escape(row.kind === "idle" ? row.nodes.map(nodeName).join(", ") : row.kind === "strip" ? resourceName(row.r) : row.kind === "grants" ? serviceName(row.nodes) : row.node >= 0 ? nodeName(row.node) : "store")}</b>`;
  drawOver();
  showTip(html, px, py);
}
/// The mark at a place; a finger may miss it by more than a pointer.
function markAt(row, x, y) {
  if (row.kind !== "marks" || y > row.y + view.markAt * 2 + 26) return null;
  const far = m => Math.max(0, m.x - x, x - m.x - m.w);
  const near = [...row.run.marks].sort((a, b) => far(a) - far(b))[0];
  return near && far(near) <= (view.markAt > 2 ? 14 : 0) ? near : null;
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
/// Draws what changes with the pointer, on its own canvas.
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
  const before = run;
  drawClocks(ctx);
  const label = (x, words, back, front) => {
    const w = widthOf(ctx, words) + 12;
    for (const row of rows) if (row.kind === "marks") pill(ctx, Math.min(Math.max(x - w / 2, 0), view.width - w), row.y + row.h - 20, words, back, front);
  };
  if (selected >= 0 && visible(X(MOMENTS[selected].t))) upright(X(MOMENTS[selected].t), ink.accent, [4, 3]);
  if (instant !== null && visible(X(instant))) {
    upright(X(instant), ink.accent, []);
    label(X(instant), at(instant, 6), ink.accent, ink.page);
  }
  if (found) drawFound(ctx, upright, label);
  enter(before);
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
  if (cursor !== null) {
    upright(cursor, ink.dim, []);
    label(cursor, at(Math.max(0, timeAt(cursor)), v1 - v0 < 2e5 ? 6 : v1 - v0 < 5e6 ? 4 : 3), ink.ink, ink.page);
  }
  drawHead();
}
/// A ring around the event that a search found, with a line down to its time.
function drawFound(ctx, upright, label) {
  const { of, i } = found;
  enter(of);
  const x = X(E.t[i]), wrote = E.kind[i] === KIND.APPLY || E.kind[i] === KIND.ISSUE;
  if (!visible(x)) return;
  upright(x, ink.accent, [2, 2]);
  label(x, "found: " + at(E.t[i], 6), ink.accent, ink.page);
  const row = E.kind[i] === KIND.ISSUE ? rowOf("node", M.incarnations[E.inc[i]].node) : !wrote ? rowOf("clients")
    : E.res[i] ? rows.find(r => r.run === of && r.kind === "strip" && r.r === E.res[i]) : rowOf("store");
  if (!row) return;
  const y = row.kind === "store" ? clampY(row, E.seq[i]) : row.kind === "strip" ? stripY(row, E.inc[i]) : row.y + row.h - 5;
  ctx.strokeStyle = ink.accent;
  ctx.lineWidth = 3;
  ctx.beginPath();
  ctx.arc(x, y, 10, 0, 7);
  ctx.stroke();
}
let headFrom = 0;
/// If the axis has scrolled away, a copy stays at the top: curves, moments, times and the cursor's time.
function drawHead() {
  const top = -$("chart").getBoundingClientRect().top, heads = rows.filter(r => r.kind === "curves" && r.y < top), curves = heads.at(-1), canvas = $("head");
  const last = curves && rows.findLast(r => r.run === curves.run), shown = curves && !printing && top < last.y + last.h - 160;
  canvas.style.display = shown ? "block" : "none";
  if (!shown) return;
  const axisRow = rows.find(r => r.run === curves.run && r.kind === "marks"), from = innerHeight < 620 ? axisRow.y : curves.y, height = axisRow.y + axisRow.h - from;
  headFrom = from;
  const ctx = sized(canvas, view.width, height), ratio = pixelRatio();
  ctx.fillStyle = ink.page;
  ctx.fillRect(0, 0, view.width, height);
  for (const layer of ["lanes", "over"]) ctx.drawImage($(layer), 0, from * ratio, view.width * ratio, height * ratio, 0, 0, view.width, height);
  ctx.fillStyle = ink.line;
  ctx.fillRect(0, height - 1, view.width, 1);
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

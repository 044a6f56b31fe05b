
// The text around the picture: verdict and cause, the list of moments, the tables, the key.
/// A time to jump to.
const timeLink = t => `<button data-t="${t}">${at(t)}</button>`;
/// A sentence of text and times.
const linked = parts => parts.map(part => typeof part === "number" ? timeLink(part) : escape(part)).join("");
function stepAt(steps, t) {
  let value = 0;
  for (const [from, n] of steps) if (from <= t) value = n;
  return value;
}
/// The verdict of a run, and why.
function head() {
  const safe = M.verdict === "Safe", sign = M.bad ? "✗" : safe ? "✓" : "?", of = run.n ? "-b" : "", tag = TWO ? "h2" : "h1";
  const broken = M.broken.map(([name, detail]) => `<li><b>✗ ${escape(name)}</b> ${escape(detail)}</li>`).join("");
  const same = run.n > 0 && linked(M.cause[0] ?? []) === linked(RUNS[0].M.cause[0] ?? []);
  return `<section${same ? ' class="same"' : ""}><p class="meta">${TWO ? `<b class="letter">${run.letter}</b>` : ""}<span class="chip ${M.bad ? "bad" : safe ? "" : "open"}">${sign} ${escape(M.verdict)}</span>` +
    `<span>${escape(M.title)} · ${plural(M.events, "event")} in ${duration(M.end - M.begin)}${M.clock ? ` · times: ${daysOf(M.clock)}` : M.epoch ? ` · 0 s is ${escape(M.epoch)}` : ""}${M.unshown ? ` · ${plural(M.unshown, "more resource")} written to, without a strip` : ""}</span></p>` +
    `<${tag} class="cause" id="cause${of}">${linked(M.cause[0] ?? [])}</${tag}><p class="why" id="why${of}">${M.cause.slice(1).map(linked).join(" ")}</p>` +
    (broken && `<details class="broken"><summary>${plural(M.broken.length, "invariant")} violated: ${M.broken.map(([name]) => `<b>${escape(name)}</b>`).join(", ")}</summary><ul>${broken}</ul></details>`) + "</section>";
}
/// Where two runs diverge, known once their events are decoded.
function fillDifference() {
  if (!TWO) return;
  const place = firstDifference(RUNS), [a, b] = RUNS;
  if (place < 0) { $("differ").textContent = "The two runs are the same, event for event."; return; }
  const t = Math.min(...RUNS.filter(r => place < r.E.n).map(r => r.E.t[place])), after = MOMENTS.find(m => m.t >= t - 1 && m.runs.length === 1);
  const event = r => { const text = lineIn(r, place); return text ? `<code>${escape(text)}</code>` : "<i>it has ended</i>"; };
  const alike = place ? `The same for ${plural(place, "event")}, up to ${timeLink(t)}.` : "They differ from the first event on.";
  $("differ").innerHTML = `<p>${alike}${after ? ` What shows first: ${timeLink(after.t)}, in ${runsOf(after)}: ${escape(after.text)}.` : ""}</p>` +
    `<details><summary>The first event that differs</summary><p>${a.letter} ${event(a)}</p><p>${b.letter} ${event(b)}</p></details>`;
  for (const button of $("differ").querySelectorAll("button[data-t]")) button.onclick = () => jump(+button.dataset.t);
}
function fillWords() {
  $("heads").innerHTML = (TWO ? "<h1 class=\"apart\">Two runs on one time axis</h1>" : "") + each(head).join("");
  $("heads").className = TWO ? "two" : "";
  if (GROUPS.length > 1) {
    const link = g => `<a href="#group=${g.n}"${g === GROUP ? ' aria-current="page"' : ""}${g.bad ? ' class="bad"' : ""} title="${escape(g.verdict)}">${g.bad ? "✗" : g.verdict === "Safe" ? "✓" : "?"} ${g.n}</a>`;
    $("heads").innerHTML += `<p class="groups">Group ${GROUPS.map(link).join(" ")}</p>`;
  }
  for (const button of document.querySelectorAll("button[data-t]")) button.onclick = () => jump(+button.dataset.t);
  if (M.clock) {
    $("find").placeholder = `Find ${at(M.begin, 0).slice(-8, -3)}, ${nodeName(M.lanes[0]?.node ?? 0)}`;
    $("find").setAttribute("aria-label", "Find a time of the log, a word, a number, or a request such as c1:17");
  }
  $("violation").disabled = !MOMENTS.some(m => m.k === "bad");
  $("list").style.setProperty("--time", LONG || M.clock ? "104px" : DIGITS > 3 ? "88px" : "70px");
  $("list").className = M.clock?.dates ? "dated" : "";
  $("list").innerHTML = MOMENTS.map(m =>
    `<li><button class="${m.k === "bad" ? "bad" : ""}"><span class="n">${m.n}</span><span class="t">${at(m.t, DIGITS, RUNS[m.runs[0]].M.clock)}</span><span>${m.runs.length < RUNS.length ? `<b class="letter">${runsOf(m)}</b> ` : ""}${escape(m.text).replaceAll("_", "_<wbr>")}</span></button></li>`).join("");
  [...$("list").children].forEach((item, i) => item.firstChild.onclick = () => { pick(i); showChart(); });
  fillTable();
  fillKey();
}
/// Scrolls the chart into view if most of it is not: on a phone the list is far below it.
function showChart() {
  const { top, bottom } = $("chart").getBoundingClientRect();
  if (top < -150 || Math.min(bottom, top + 300) > innerHeight) $("chart").scrollIntoView({ block: "start" });
}
/// One row of a table has the focus; arrows move it, Enter shows the row above.
function walked(table, show) {
  const chosen = event => event.target.closest("tbody tr");
  table.onclick = event => { const row = chosen(event); if (row) show(row); };
  table.onkeydown = event => {
    const row = chosen(event);
    if (!row || event.target !== row) return;
    const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (event.key === "Enter") show(row); else if (to) { row.tabIndex = -1; to.tabIndex = 0; to.focus(); } else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
function fillTable() {
  const head = ["No.", "Time", ...(TWO ? ["Run"] : []), "Node", "What", "Leaders believing", "Leaders taking effect"];
  const of = (m, curve) => m.runs.map(n => curve === "believing" && RUNS[n].M.foreign && !RUNS[n].M.beliefs.length ? "unknown" : m.of[n][curve]).join(" and ");
  const body = MOMENTS.map((m, i) =>
    `<tr tabindex="${i ? -1 : 0}" data-i="${i}" class="${m.k === "bad" ? "bad" : ""}"><td>${m.n}</td><td>${at(m.t, 6, RUNS[m.runs[0]].M.clock)}</td>${TWO ? `<td>${runsOf(m)}</td>` : ""}<td>${m.node === null ? "" : escape(RUNS[m.runs[0]].M.nodes[m.node] ?? "")}</td>` +
    `<td>${escape(m.text)}</td><td>${of(m, "believing")}</td><td>${of(m, "acting")}</td></tr>`);
  $("table").innerHTML = `<table><caption class="apart">${MOMENTS.some(m => m.k === "gap") ? "The first and last moments, and every violation," : "Every moment"} of ${TWO ? "both runs" : "the run"}. A leadership takes effect from its first accepted write to its last: it counts in between, even while nothing is accepted.</caption><thead><tr>${head.map(h => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  $("turns").innerHTML = turnsTable();
  walked($("table"), row => { pick(+row.dataset.i); showChart(); });
}
/// The key: only the signs that these runs have, drawn as in the picture.
function keySigns() {
  const c = colour(0), some = of => each(() => of()).some(Boolean), shade = kind => some(() => M.shades.some(s => s.kind === kind));
  const band = (ctx, dash = [], stroke = c) => { ctx.strokeStyle = stroke; ctx.lineWidth = 1.5; ctx.setLineDash(dash); ctx.strokeRect(1, 1, 24, 12); ctx.setLineDash([]); };
  const faint = (ctx, tone, alpha) => { ctx.fillStyle = tone; ctx.globalAlpha = alpha; ctx.fillRect(0, 0, 26, 14); ctx.globalAlpha = 1; };
  const hatch = kind => ctx => { ctx.fillStyle = hatching(ctx, kind); ctx.fillRect(0, 0, 26, 14); };
  const lines = (tone, ...ys) => ctx => { ctx.fillStyle = tone; for (const [y, h] of ys) ctx.fillRect(0, y, 26, h); };
  const ring = ctx => { ctx.strokeStyle = c; ctx.lineWidth = 2; ctx.beginPath(); ctx.arc(13, 7, 5, 0, 7); ctx.stroke(); };
  const stale = some(() => M.stale.length);
  return [
    [some(() => M.beliefs.length), ctx => { faint(ctx, c, .2); band(ctx); }, "believes that it leads"],
    [some(() => M.beliefs.some(b => b.outlived)), ctx => band(ctx, [6, 4], ink.bad), "believes wrongly"],
    [some(() => M.grants.length), lines(c, [5, 3]), "granted by the service"],
    [rows.some(r => r.kind === "member") && some(() => M.led.length), ctx => faint(ctx, ink.dim, .25), "leads the members of the service"],
    [some(() => M.effects.length), lines(c, [2, 10]), "its writes take effect"],
    [some(() => M.effects.some(e => e.runs.length > 1)), lines(c, [9, 3]), "between its first and last write"],
    [shade("unborn"), ctx => faint(ctx, ink.faint, 1), "not started"],
    [shade("pause"), hatch("pause"), "‖ paused"],
    [shade("down"), hatch("down"), "× down"],
    [shade("cut"), hatch("cut"), "// cut off"],
    [shade("other"), hatch("other"), "! another fault"],
    [some(() => M.lanes.some(l => clockSteps(l.node).length)), ctx => { ctx.strokeStyle = ink.accent; ctx.lineWidth = 2; ctx.setLineDash([2, 2]); ctx.beginPath(); ctx.moveTo(13, 0); ctx.lineTo(13, 14); ctx.stroke(); }, "its clock was set"],
    [some(() => M.takeovers.length), ctx => { faint(ctx, c, .22); text(ctx, "✓", 8, 7, { size: 11 }); }, "the store follows it"],
    [some(() => M.dark.length), ctx => faint(ctx, ink.faint, 1), "dark: a request would not have been served in time"],
    [FUTURES, ctx => { faint(ctx, ink.bad, .16); lines(ink.bad, [0, 2])(ctx); }, "the share of futures, drawn anew from there on, that fail"],
    [some(() => M.several.length), ctx => faint(ctx, ink.bad, .25), "several leaders take effect at once"],
    [some(() => E && E.applies.some(i => E.verdict[i] > 1)), ring, "refused"],
    [stale, ctx => diamond(ctx, 13, 7, 4), "stale, accepted"],
    [stale, ctx => { faint(ctx, ink.bad, .2); hatch("stale")(ctx); }, "many stale, accepted"],
    [showMessages || some(() => M.refused.length) || stale, ctx => arrow(ctx, 3, 2, 22, 12, ink.ink, 1), "sent, decided"],
    [some(() => E && E.unanswered.length), ctx => { ctx.fillStyle = ink.dim; for (const x of [6, 12, 18]) ctx.fillRect(x, 2, 1.5, 10); }, "a request without an answer"],
    [scale === "story" && MOMENTS.length, null, "‹ 2.5 s › a squeezed stretch, and how long it is"],
    [some(() => M.end < END - PAD), lines(ink.line, [0, 14]), "after the run's end"],
  ].filter(sign => sign[0]);
}
function fillKey() {
  const keys = `<span class="wide"><kbd>n</kbd> <kbd>p</kbd> moments, <kbd>v</kbd> violations, <kbd>s</kbd> scale, <kbd>m</kbd> messages, ${rows.some(r => r.folds) ? "<kbd>f</kbd> idle lanes, " : ""}<kbd>l</kbd> link, <kbd>/</kbd> find, ` +
    `<kbd>←</kbd> <kbd>→</kbd> <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> move; drag pans, <kbd>Ctrl</kbd> and wheel zooms, drag on the curves selects, a click marks an instant</span>`;
  const signs = keySigns();
  $("key").innerHTML = signs.map(([, paint, words]) => `<span>${paint ? "<canvas></canvas>" : ""}${words}</span>`).join("") + keys;
  const canvases = [...$("key").querySelectorAll("canvas")];
  signs.filter(sign => sign[1]).forEach(([, paint], i) => paint(sized(canvases[i], 26, 14)));
  const kinds = each(() => E ? [0, 1, 2, 3, 4].filter(k => E.kind.includes(k)) : []).flat();
  const has = k => kinds.includes(k);
  $("messages").title = "Key m: " + ([has(KIND.ISSUE) && "writes from their leader to the store", has(KIND.INVOKE) && "requests of clients to their leader", has(KIND.REPLY) && "the answers", has(KIND.READ_INVOKE) && "reads, as bars in the clients' lane"].filter(Boolean).join(", ") || "none in this history") + ". What nodes say to each other is not in a history.";
}
/// The events in view, up to a limit; built when the table is opened.
const EVENTS_MOST = 300;
let eventsMost = EVENTS_MOST;
function fillEvents(more = 0) {
  eventsMost = more || EVENTS_MOST;
  if (!$("raw").open || !E) return;
  const from = timeAt(view.gutter), until = timeAt(view.width - view.right);
  let all = 0;
  const lines = each(() => {
    const first = lowerBound(E.t, t => t, from), last = lowerBound(E.t, t => t, until + 1), own = [];
    all += last - first;
    for (let i = first; i < Math.min(last, first + eventsMost); i++) own.push([E.t[i], run.letter, line(i), M.clock]);
    return own;
  }).flat().sort((a, b) => a[0] - b[0]);
  const shown = lines.slice(0, eventsMost);
  const body = shown.map(([t, letter, text, clock], i) => `<tr tabindex="${i ? -1 : 0}" data-t="${t}"><td>${at(t, 6, clock)}</td>${TWO ? `<td>${letter}</td>` : ""}<td><code>${escape(text)}</code></td></tr>`);
  const note = shown.length < all ? `The first ${shown.length} of ${plural(all, "event")} in the view; zoom in for the others, or <button id="more">show ${EVENTS_MOST} more</button>` : `${plural(all, "event")} in the view.`;
  $("events").innerHTML = `<p>${note}</p><table><thead><tr><th scope="col">Time</th>${TWO ? "<th scope=\"col\">Run</th>" : ""}<th scope="col">Event</th></tr></thead><tbody>${body.join("")}</tbody></table>`;
  walked($("events"), row => { jump(+row.dataset.t); showChart(); });
  if ($("more")) $("more").onclick = () => fillEvents(eventsMost + EVENTS_MOST);
}
/// What is under the pointer, as HTML.
function nodeWords(node, t) {
  const lines = [], believes = M.beliefs.find(b => M.incarnations[b.i].node === node && b.from <= t && b.to >= t);
  const offset = clockOffset(node, t);
  if (offset !== null) lines.push(`its own clock shows ${at(t + offset, 6)} (${signed(offset)})`);
  for (const s of M.shades) if (s.nodes.includes(node) && s.from <= t && s.to >= t) lines.push(`${escape(s.text)}: ${at(s.from)} – ${at(s.to)}`);
  const grant = M.grants.find(g => g.node === node && g.from <= t && g.to >= t);
  if (grant) lines.push(`granted ${grant.token ? "token " + grant.token : "leadership"}: ${at(grant.from)} – ${at(grant.to)}${grant.why ? ", until " + grant.why : ""}`);
  if (!believes) return [...lines, "does not believe that it leads"];
  lines.push(`believes that it leads, ${escape(M.incarnations[believes.i].label)}: ${at(believes.from)} – ${at(believes.to)}${believes.why ? " (" + escape(believes.why) + ")" : ""}`);
  if (believes.outlived && t >= believes.outlived[0]) lines.push(`<span class="bad">since ${at(believes.outlived[0])} wrongly: ${escape(believes.outlived[1])}</span>`);
  for (const e of M.effects) if (e.i === believes.i)
    lines.push(`takes effect on ${escape(resourceName(e.r))}: ${at(e.from)} – ${at(e.to)}, ${plural(e.n, "write")}${e.stale ? `, <span class="bad">${grouped(e.stale)} of them stale</span>` : ""}`);
  return lines;
}
function writeWords(i) {
  const refused = E.verdict[i] > 1, issue = issueOf(i);
  const stale = E.stale[i] > 0;
  const what = refused ? `refused (${VERDICTS[E.verdict[i]]})` : stale ? "ACCEPTED although stale" : "accepted";
  const on = E.res[i] ? ` on ${escape(resourceName(E.res[i]))}` : "";
  return `<b${stale ? ' class="bad"' : ""}>${at(E.t[i], 6)}: ${what}</b><br>number ${grouped(E.seq[i])} of ${escape(leaderName(E.inc[i]))}, ${escape(M.incarnations[E.inc[i]].label)}${on}` +
    (issue >= 0 ? `<br>sent at ${at(E.t[issue], 6)}, decided ${duration(E.t[i] - E.t[issue])} later` : "") + `<code>${escape(line(i))}</code>`;
}

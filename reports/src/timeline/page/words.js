
// The words around the picture: verdict and cause, the list of moments, the tables, the key.
/// Text in which [[t]] is a time to jump to.
const linked = words => escape(words).replace(/\[\[(\d+)\]\]/g, (_, t) => `<button data-t="${t}">${at(+t)}</button>`);
function stepAt(steps, t) {
  let value = 0;
  for (const [from, n] of steps) if (from <= t) value = n;
  return value;
}
/// What a run came to, and why.
function head() {
  const safe = M.verdict === "Safe", sign = M.bad ? "✗" : safe ? "✓" : "?", of = run.n ? "-b" : "", tag = TWO ? "h2" : "h1";
  const broken = M.broken.map(([name, detail]) => `<li><b>✗ ${escape(name)}</b> ${escape(detail)}</li>`).join("");
  return `<section><p class="meta">${TWO ? `<b class="letter">${run.letter}</b>` : ""}<span class="chip ${M.bad ? "bad" : safe ? "" : "open"}">${sign} ${escape(M.verdict)}</span>` +
    `<span>${escape(M.title)} · ${plural(M.events, "event")} in ${duration(M.end - M.begin)}${M.epoch ? ` · 0 s is ${escape(M.epoch)}` : ""}${M.unshown ? ` · ${plural(M.unshown, "more resource")} written to, without a strip` : ""}</span></p>` +
    `<${tag} class="cause" id="cause${of}">${linked(M.cause[0] ?? "")}</${tag}><p class="why" id="why${of}">${M.cause.slice(1).map(linked).join(" ")}</p>` +
    (broken && `<details class="broken"><summary>${plural(M.broken.length, "invariant")} violated: ${M.broken.map(([name]) => `<b>${escape(name)}</b>`).join(", ")}</summary><ul>${broken}</ul></details>`) + "</section>";
}
/// Where two runs part: known when their events are decoded.
function fillDifference() {
  if (!TWO) return;
  const place = firstDifference(RUNS), [a, b] = RUNS;
  if (place < 0) { $("differ").textContent = "The two runs are the same, event for event."; return; }
  const t = Math.min(...RUNS.filter(r => place < r.E.n).map(r => r.E.t[place])), after = MOMENTS.find(m => m.t >= t - 1 && m.runs.length === 1);
  const event = r => { const text = lineIn(r, place); return text ? `<code>${escape(text)}</code>` : "<i>it has ended</i>"; };
  const alike = place ? `The same for ${plural(place, "event")}, up to ${linked(`[[${t}]]`)}.` : "They differ from the first event on.";
  $("differ").innerHTML = `<p>${alike}${after ? ` What shows first: ${linked(`[[${after.t}]]`)}, in ${runsOf(after)}: ${escape(after.text)}.` : ""}</p>` +
    `<details><summary>The first event that differs</summary><p>${a.letter} ${event(a)}</p><p>${b.letter} ${event(b)}</p></details>`;
  for (const button of $("differ").querySelectorAll("button[data-t]")) button.onclick = () => jump(+button.dataset.t);
}
function fillWords() {
  $("heads").innerHTML = (TWO ? "<h1 class=\"apart\">Two runs on one time axis</h1>" : "") + each(head).join("");
  $("heads").className = TWO ? "two" : "";
  for (const button of document.querySelectorAll("button[data-t]")) button.onclick = () => jump(+button.dataset.t);
  $("violation").disabled = !MOMENTS.some(m => m.k === "bad");
  $("list").style.setProperty("--time", DIGITS > 3 ? "88px" : "70px");
  $("list").innerHTML = MOMENTS.map(m =>
    `<li><button class="${m.k === "bad" ? "bad" : ""}"><span class="n">${m.n}</span><span class="t">${at(m.t)}</span><span>${m.runs.length < RUNS.length ? `<b class="letter">${runsOf(m)}</b> ` : ""}${escape(m.text)}</span></button></li>`).join("");
  [...$("list").children].forEach((item, i) => item.firstChild.onclick = () => pick(i));
  fillTable();
  fillKey();
}
function fillTable() {
  const head = ["No.", "Time", ...(TWO ? ["Run"] : []), "Node", "What", "Leaders believing", "Leaders taking effect"];
  const of = (m, curve) => m.runs.map(n => curve === "believing" && RUNS[n].M.foreign && !RUNS[n].M.beliefs.length ? "unknown" : m.of[n][curve]).join(" and ");
  const body = MOMENTS.map((m, i) =>
    `<tr tabindex="0" data-i="${i}" class="${m.k === "bad" ? "bad" : ""}"><td>${m.n}</td><td>${at(m.t, 6)}</td>${TWO ? `<td>${runsOf(m)}</td>` : ""}<td>${m.node === null ? "" : escape(RUNS[m.runs[0]].M.nodes[m.node] ?? "")}</td>` +
    `<td>${escape(m.text)}</td><td>${of(m, "believing")}</td><td>${of(m, "acting")}</td></tr>`);
  $("table").innerHTML = `<table><caption class="apart">${MOMENTS.some(m => m.k === "gap") ? "The first and last moments, and every violation," : "Every moment"} of ${TWO ? "both runs" : "the run"}. A leadership takes effect from its first accepted write to its last: it counts in between, even while nothing is accepted.</caption><thead><tr>${head.map(h => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
  $("turns").innerHTML = turnsTable();
  const chosen = event => event.target.closest("tr[data-i]");
  const show = row => { pick(+row.dataset.i); $("chart").scrollIntoView({ block: "nearest" }); };
  $("table").onclick = event => { const row = chosen(event); if (row) show(row); };
  $("table").onkeydown = event => {
    const row = chosen(event);
    if (!row) return;
    const to = { ArrowDown: row.nextElementSibling, ArrowUp: row.previousElementSibling }[event.key];
    if (event.key === "Enter") show(row); else if (to) to.focus(); else return;
    event.preventDefault();
    event.stopPropagation();
  };
}
function fillKey() {
  const c = colour(0);
  const entries = [
    `<i style="background:color-mix(in srgb,${c} 22%,transparent);border:1.5px solid ${c}"></i>believes that it leads`,
    RUNS.some(r => r.M.grants.length) ? `<i style="background:${c};height:3px;vertical-align:4px"></i>granted by the service` : "",
    `<i style="background:${c}"></i>takes effect: from its first accepted write to its last`,
    `<i style="border:2px dashed var(--bad)"></i>believes without ground`,
    "○ refused",
    `<span style="color:var(--bad)">◆ from the past, but accepted</span>`,
    "‹ 2.5 s › a squeezed stretch, and how long it is",
  ].filter(Boolean).map(e => `<span>${e}</span>`);
  const keys = `<span class="wide"><kbd>n</kbd> <kbd>p</kbd> moments, <kbd>v</kbd> violations, <kbd>s</kbd> scale, <kbd>m</kbd> messages, <kbd>/</kbd> find, ` +
    `<kbd>←</kbd> <kbd>→</kbd> <kbd>+</kbd> <kbd>−</kbd> <kbd>0</kbd> move; drag pans, <kbd>Ctrl</kbd> and wheel zooms, drag on the curves selects</span>`;
  $("key").innerHTML = entries.join("") + keys;
}
/// The events of the view, as far as anybody reads: made when somebody opens them.
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
    for (let i = first; i < Math.min(last, first + eventsMost); i++) own.push([E.t[i], run.letter, line(i)]);
    return own;
  }).flat().sort((a, b) => a[0] - b[0]);
  const shown = lines.slice(0, eventsMost);
  const body = shown.map(([t, letter, text]) => `<tr tabindex="0"><td>${at(t, 6)}</td>${TWO ? `<td>${letter}</td>` : ""}<td><code>${escape(text)}</code></td></tr>`);
  const note = shown.length < all ? `The first ${shown.length} of ${plural(all, "event")} in the view; zoom in for the others, or <button id="more">show ${EVENTS_MOST} more</button>` : `${plural(all, "event")} in the view.`;
  $("events").innerHTML = `<p>${note}</p><table><thead><tr><th scope="col">Time</th>${TWO ? "<th scope=\"col\">Run</th>" : ""}<th scope="col">Event</th></tr></thead><tbody>${body.join("")}</tbody></table>`;
  if ($("more")) $("more").onclick = () => fillEvents(eventsMost + EVENTS_MOST);
}
/// What is under the pointer, as HTML.
function nodeWords(node, t) {
  const lines = [], believes = M.beliefs.find(b => M.incarnations[b.i].node === node && b.from <= t && b.to >= t);
  const offset = clockOffset(node, t);
  if (offset !== null) lines.push(`its own clock shows ${at(t + offset, 6)} (${signed(offset / 1e3)} ms)`);
  for (const s of M.shades) if (s.nodes.includes(node) && s.from <= t && s.to >= t) lines.push(`${escape(s.text)}: ${at(s.from)} – ${at(s.to)}`);
  const grant = M.grants.find(g => g.node === node && g.from <= t && g.to >= t);
  if (grant) lines.push(`granted ${grant.token !== "0" ? "token " + grant.token : "leadership"}: ${at(grant.from)} – ${at(grant.to)}${grant.why ? ", until " + grant.why : ""}`);
  if (!believes) return [...lines, "does not believe that it leads"];
  lines.push(`believes that it leads, ${escape(M.incarnations[believes.i].label)}: ${at(believes.from)} – ${at(believes.to)}${believes.why ? " (" + escape(believes.why) + ")" : ""}`);
  if (believes.outlived && t >= believes.outlived[0]) lines.push(`<span class="bad">since ${at(believes.outlived[0])} without ground: ${escape(believes.outlived[1])}</span>`);
  for (const e of M.effects) if (e.i === believes.i)
    lines.push(`takes effect on ${escape(resourceName(e.r))}: ${at(e.from)} – ${at(e.to)}, ${plural(e.n, "write")}${e.stale ? `, <span class="bad">${grouped(e.stale)} of them from the past</span>` : ""}`);
  return lines;
}
function writeWords(i) {
  const refused = E.verdict[i] > 1, issue = issueOf(i);
  const stale = !refused && M.stale.some(s => s.i === E.inc[i] && s.r === E.res[i] && E.t[i] >= s.from && E.t[i] <= s.to);
  const what = refused ? `refused (${VERDICTS[E.verdict[i]]})` : stale ? "ACCEPTED although stale" : "accepted";
  const on = E.res[i] ? ` on ${escape(resourceName(E.res[i]))}` : "";
  return `<b${stale ? ' class="bad"' : ""}>${at(E.t[i], 6)}: ${what}</b><br>number ${grouped(E.seq[i])} of ${escape(leaderName(E.inc[i]))}, ${escape(M.incarnations[E.inc[i]].label)}${on}` +
    (issue >= 0 ? `<br>sent at ${at(E.t[issue], 6)}, decided ${duration(E.t[i] - E.t[issue])} later` : "") + `<code>${escape(line(i))}</code>`;
}


// The words around the picture: verdict and cause, the list of moments, the tables, the key.
/// Text in which [[t]] is a time to jump to.
const linked = words => escape(words).replace(/\[\[(\d+)\]\]/g, (_, t) => `<button data-t="${t}">${at(+t)}</button>`);
function stepAt(steps, t) {
  let value = 0;
  for (const [from, n] of steps) if (from <= t) value = n;
  return value;
}
function fillWords() {
  const safe = M.verdict === "Safe", sign = M.bad ? "✗" : safe ? "✓" : "?";
  $("meta").innerHTML = `<span class="chip ${M.bad ? "bad" : safe ? "" : "open"}">${sign} ${escape(M.verdict)}</span>` +
    `<span>${escape(M.title)} · ${plural(M.events, "event")} in ${duration(END - BEGIN)}</span>`;
  $("cause").innerHTML = linked(M.cause[0] ?? "");
  $("why").innerHTML = M.cause.slice(1).map(linked).join(" ");
  $("broken").hidden = !M.broken.length;
  $("broken").firstChild.innerHTML = `${plural(M.broken.length, "invariant")} violated: ${M.broken.map(([name]) => `<b>${escape(name)}</b>`).join(", ")}`;
  $("broken").lastChild.innerHTML = M.broken.map(([name, detail]) => `<li><b>✗ ${escape(name)}</b> ${escape(detail)}</li>`).join("");
  for (const button of document.querySelectorAll("button[data-t]")) button.onclick = () => jump(+button.dataset.t);
  $("violation").disabled = !M.moments.some(m => m.k === "bad");
  $("list").style.setProperty("--time", DIGITS > 3 ? "88px" : "70px");
  $("list").innerHTML = M.moments.map(m =>
    `<li><button class="${m.k === "bad" ? "bad" : ""}"><span class="n">${m.n}</span><span class="t">${at(m.t)}</span><span>${escape(m.text)}</span></button></li>`).join("");
  [...$("list").children].forEach((item, i) => item.firstChild.onclick = () => pick(i));
  fillTable();
  fillKey();
}
function fillTable() {
  const head = ["No.", "Time", "Node", "What", "Leaders believing", "Leaders taking effect"];
  const body = M.moments.map((m, i) =>
    `<tr tabindex="0" data-i="${i}" class="${m.k === "bad" ? "bad" : ""}"><td>${m.n}</td><td>${at(m.t, 6)}</td><td>${m.node === null ? "" : escape(nodeName(m.node))}</td>` +
    `<td>${escape(m.text)}</td><td>${stepAt(M.believing, m.t)}</td><td>${stepAt(M.acting, m.t)}</td></tr>`);
  $("table").innerHTML = `<table><caption class="apart">Every moment of the run</caption><thead><tr>${head.map(h => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
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
    M.grants.length ? `<i style="background:${c};height:3px;vertical-align:4px"></i>granted by the service` : "",
    `<i style="background:${c}"></i>its writes take effect`,
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
function fillEvents() {
  if (!$("raw").open || !E) return;
  const from = timeAt(view.gutter), until = timeAt(view.width - view.right);
  const first = lowerBound(E.t, t => t, from), last = lowerBound(E.t, t => t, until + 1), shown = Math.min(last - first, EVENTS_MOST);
  const lines = [];
  for (let i = first; i < first + shown; i++) lines.push(`<tr tabindex="-1"><td>${at(E.t[i], 6)}</td><td><code>${escape(line(i))}</code></td></tr>`);
  const all = shown < last - first ? `The first ${shown} of ${plural(last - first, "event")} in the view; zoom in for the others.` : `${plural(shown, "event")} in the view.`;
  $("events").innerHTML = `<p>${all}</p><table><thead><tr><th scope="col">Time</th><th scope="col">Event</th></tr></thead><tbody>${lines.join("")}</tbody></table>`;
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

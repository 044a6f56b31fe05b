
// Leaderships as a table: who was granted leadership, believed and took effect, and when. It has what the bands show.
function turnsTable() {
  const head = ["Leadership", ...(TWO ? ["Run"] : []), "Granted", "Believed", "Wrongly believed", "Took effect"];
  const span = (from, to, why) => `${at(from, 6)} – ${at(to, 6)}${why ? ` (${escape(why)})` : ""}`;
  const rows = each(() => {
    const turns = M.incarnations.map((one, i) => ({
      one, grants: M.grants.filter(g => g.i === i), beliefs: M.beliefs.filter(b => b.i === i), effects: M.effects.filter(e => e.i === i),
    }));
    // A grant without a resulting leadership.
    for (const g of M.grants) if (g.i === null) turns.push({ one: { node: g.node, label: !g.token ? "no token" : "token " + g.token }, grants: [g], beliefs: [], effects: [] });
    const began = turn => Math.min(...[...turn.grants, ...turn.beliefs, ...turn.effects].map(x => x.from));
    return turns.filter(turn => isFinite(began(turn))).sort((a, b) => began(a) - began(b)).map(({ one, grants, beliefs, effects }) => [
      `${escape(nodeName(one.node))}, ${escape(one.label)}`,
      ...(TWO ? [run.letter] : []),
      grants.map(g => span(g.from, g.to, g.why && "until " + g.why)).join("<br>") || (M.grants.length ? "never" : "not known"),
      beliefs.map(b => span(b.from, b.to, b.why)).join("<br>") || (M.beliefs.length ? "never" : "not known"),
      beliefs.filter(b => b.outlived && b.outlived[0] < b.to).map(b => `from ${at(b.outlived[0], 6)} for ${duration(b.to - b.outlived[0])}: ${escape(b.outlived[1])}`).join("<br>") || "–",
      effects.map(e => `${escape(resourceName(e.r))}: ${span(e.from, e.to)}, ${plural(e.n, "write")}${e.stale ? `, ${grouped(e.stale)} of them from the past` : ""}`).join("<br>") || "never",
    ]);
  }).flat();
  if (!rows.length) return "";
  const most = 500, shown = rows.slice(0, most);
  const note = rows.length > most ? `: the first ${most} of ${grouped(rows.length)}` : "";
  const body = shown.map(([first, ...rest]) => `<tr><th scope="row">${first}</th>${rest.map(cell => `<td>${cell}</td>`).join("")}</tr>`);
  return `<h3>Leaderships</h3><table><caption class="apart">Leaderships${note}</caption><thead><tr>${head.map(h => `<th scope="col">${h}</th>`).join("")}</tr></thead><tbody>${body.join("")}</tbody></table>`;
}

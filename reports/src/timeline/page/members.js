
// Lanes of the service's members, and the row of lanes in which nothing happens.
let unfolded = false;
/// Lanes with nothing in them: of nodes that nobody elected and nothing struck.
function idleOf(lanes) {
  const busy = new Set([...M.beliefs, ...M.effects, ...M.refused].map(b => M.incarnations[b.i].node).concat(M.grants.map(g => g.node), M.moments.map(m => m.node), M.misread.map(m => m.node)));
  for (const s of M.shades) if (s.kind !== "unborn") s.nodes.forEach(node => busy.add(node));
  return lanes.filter(l => !busy.has(l.node) && !clockSteps(l.node).length);
}
const idleNames = (ctx, row) => fitting(ctx, [(row.nodes ?? []).map(nodeName).join(", ")], view.phone ? 180 : view.gutter - 12, 13) || plural(row.nodes?.length ?? 0, row.folds ? "node" : "member");
/// Several lanes with nothing in them, as one.
function drawIdle(ctx, row) {
  if (view.phone) return;
  const what = !row.folds ? "only followed" : unfolded ? "idle, shown above: click to fold them" : "never led, and nothing struck them: click to unfold";
  text(ctx, what, view.gutter + 6, row.y + row.h / 2, { fill: ink.dim });
}
function drawMember(ctx, row) {
  const top = row.y + (view.phone ? 12 : 2);
  for (const [node, from, to] of M.led) {
    if (node !== row.node) continue;
    const x = Math.max(X(from), view.gutter), w = Math.max(2, Math.min(X(to), view.width - view.right) - x);
    ctx.fillStyle = ink.dim;
    ctx.globalAlpha = .25;
    ctx.fillRect(x, row.y, w, row.h - 1);
    ctx.globalAlpha = 1;
    ctx.fillRect(x, row.y, 2, row.h - 1);
    // The words of what strikes it meanwhile come first.
    const until = Math.min(x + w, ...M.shades.filter(s => s.nodes.includes(node) && s.to > from && X(s.to) > x).map(s => Math.max(x, X(s.from))));
    const words = fitting(ctx, ["leads the members", "leads"], until - x - 12, 11.5);
    if (words) text(ctx, words, x + 7, row.y + row.h - (view.phone ? 9 : 14), { size: 11.5, weight: 600 });
  }
  drawShades(ctx, row, row.node, row.y, row.h - 1);
  drawShadeWords(ctx, { y: top }, row.node);
  drawClockSteps(ctx, row.y, row.h - 1, row.node);
}
/// Does a member lead the others at `t`, in words?
function leadsAt(node, t) {
  const led = M.led.find(l => l[0] === node && l[1] <= t && l[2] >= t);
  return led ? `leads the members: ${at(led[1])} – ${at(led[2])}` : "follows";
}
function toggleIdle() {
  unfolded = !unfolded;
  layout();
  redraw();
}

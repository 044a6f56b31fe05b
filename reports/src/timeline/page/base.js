
// What the other files share: the runs of the page, one or two, words for times and names, and the view.
const $ = id => document.getElementById(id);
const RUNS = [];
for (let n = 0; $("model-" + n); n++) {
  const [model, packed] = ["model-", "packed-"].map(part => JSON.parse($(part + n).textContent));
  RUNS.push({ n, letter: "AB"[n], M: model, PACKED: packed, E: null, sentBy: null, bins: { key: "", by: [], count: 0 }, marks: [] });
}
const TWO = RUNS.length > 1;
// The run that is spoken of now: everything below goes by these.
let run = RUNS[0], M = run.M, E = null;
function enter(other) {
  run = other;
  M = run.M;
  E = run.E;
}
/// What `of` gives for each run, spoken of one after the other; then the run of before is spoken of again.
function each(of) {
  const before = run, all = RUNS.map(r => { enter(r); return of(r); });
  enter(before);
  return all;
}
// A log without a header begins and ends with a write: some room shows it.
const PAD = M.foreign ? Math.max(1, Math.round((M.end - M.begin) * .03)) : 0;
const BEGIN = Math.min(...RUNS.map(r => r.M.begin)) - PAD, END = Math.max(...RUNS.map(r => r.M.end), M.begin + 1) + PAD;
const DIGITS = END - BEGIN < 1e4 ? 6 : END - BEGIN < 2e5 ? 5 : 3;
const COLOURS = {
  light: ["#2563c9", "#b35900", "#08755f", "#7a3fbd", "#8a5a10", "#b02a7a", "#48657a", "#587300"],
  dark: ["#6ea4ff", "#ffab4d", "#3fd0b2", "#bd93f9", "#d9b26a", "#ff86c8", "#9bb8cc", "#b5d334"],
};
const escape = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const grouped = n => n.toLocaleString("en");
const at = (t, digits = DIGITS) => (t / 1e6).toFixed(digits) + " s";
const duration = t =>
  t < 1e3 ? Math.round(t) + " µs"
  : t < 1e6 ? +(t / 1e3).toFixed(t < 1e4 ? 2 : t < 1e5 ? 1 : 0) + " ms"
  : +(t / 1e6).toFixed(2) + " s";
const plural = (n, noun) => grouped(n) + " " + noun + (n === 1 ? "" : "s");
const nodeName = node => M.nodes[node] ?? "node-" + node;
const leaderName = i => nodeName(M.incarnations[i].node);
const resourceName = r => M.resources[r] ?? "resource-" + r;
/// A label short enough for a narrow band: the token, or the generation.
const shortLabel = i => M.incarnations[i].token !== "0" ? M.incarnations[i].token : "g" + (M.incarnations[i].generation & 0xffff);
/// The first place whose value, by `of`, is not below `x`.
function lowerBound(list, of, x) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (of(list[mid]) < x) lo = mid + 1; else hi = mid;
  }
  return lo;
}
/// A node's own clock at `t`: what it is off by, microseconds, or null when nobody said.
function clockOffset(node, t) {
  let last = null;
  for (const c of M.clocks) if (c.node === node && c.t <= t) last = c;
  return last && last.offset_us + (t - last.t) * last.ppm / 1e6;
}
const signed = ms => (ms > 0 ? "+" : ms < 0 ? "−" : "±") + Math.abs(ms).toFixed(Math.abs(ms) < 10 ? 1 : 0);
/// The moments of all runs in the order of time. What two runs have in common is one moment of both.
const MOMENTS = [];
RUNS.forEach(r => r.M.moments.forEach(m => {
  const same = r.n ? MOMENTS.find(o => o.t === m.t && o.text === m.text && !o.runs.includes(r.n)) : null;
  if (same) { same.runs.push(r.n); same.of[r.n] = m; } else MOMENTS.push({ ...m, runs: [r.n], of: { [r.n]: m } });
}));
MOMENTS.sort((a, b) => a.t - b.t || a.runs[0] - b.runs[0]);
MOMENTS.forEach((m, place) => m.n = place + 1);
const runsOf = m => m.runs.map(n => RUNS[n].letter).join(" and ");
const inRun = m => TWO ? `In ${m.runs.length > 1 ? "both" : runsOf(m)}: ` : "";

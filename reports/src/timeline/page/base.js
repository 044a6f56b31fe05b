
// Shared by the other files: the page's runs (one or two), formatting of times and names, and the view.
const $ = id => document.getElementById(id);
const RUNS = [];
// A run of several groups has a picture of each: the address selects one; by default the most telling one is shown.
const GROUPS = $("groups") ? JSON.parse($("groups").textContent) : [];
const groupOf = () => GROUPS.find(g => "" + g.n === new URLSearchParams(location.hash.slice(1)).get("group")) ?? GROUPS.find(g => g.place === "0");
const GROUP = groupOf();
for (let n = 0; $("model-" + n); n++) {
  const place = GROUP?.place ?? n, [model, packed] = ["model-", "packed-"].map(part => JSON.parse($(part + place).textContent));
  RUNS.push({ n, place, letter: "AB"[n], M: model, PACKED: packed, E: null, sentBy: null, bins: { key: "", by: [], count: 0 }, marks: [] });
}
const TWO = RUNS.length > 1;
// The current run, to which everything below refers.
let run = RUNS[0], M = run.M, E = null;
function enter(other) {
  run = other;
  M = run.M;
  E = run.E;
}
/// Evaluates `of` for each run as the current one, and then restores the current run.
function each(of) {
  const before = run, all = RUNS.map(r => { enter(r); return of(r); });
  enter(before);
  return all;
}
// A log without a header begins and ends with a write: leave some space around it.
const PAD = M.foreign ? Math.max(1, Math.round((M.end - M.begin) * .03)) : 0;
const BEGIN = Math.min(...RUNS.map(r => r.M.begin)) - PAD, END = Math.max(...RUNS.map(r => r.M.end), M.begin + 1) + PAD;
const DIGITS = END - BEGIN < 1e4 ? 6 : END - BEGIN < 2e5 ? 5 : 3;
const COLOURS = {
  light: ["#2563c9", "#b35900", "#08755f", "#7a3fbd", "#8a5a10", "#b02a7a", "#48657a", "#587300"],
  dark: ["#6ea4ff", "#ffab4d", "#3fd0b2", "#bd93f9", "#d9b26a", "#ff86c8", "#9bb8cc", "#b5d334"],
};
const escape = text => String(text).replace(/[&<>"]/g, c => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
const grouped = n => n.toLocaleString("en");
/// A log of hours or days shows days and hours: nobody reads 4,320,000 s.
const LONG = END - BEGIN >= 3.6e9;
/// Formats a time: the time since the run began, or a log's own time of day. Every time on the page is formatted here.
function at(t, digits = DIGITS, clock = M.clock) {
  if (clock) return timeOfDay(t, digits, clock);
  if (!LONG) return (t / 1e6).toFixed(digits) + " s";
  if (digits === DIGITS && END - BEGIN > 8.64e10) digits = 0;
  const rounded = Math.round(Math.max(0, t) / 10 ** (6 - digits)) / 10 ** digits, two = n => ("" + n).padStart(2, "0");
  const days = Math.floor(rounded / 86400), hours = Math.floor(rounded / 3600) % 24, minutes = Math.floor(rounded / 60) % 60;
  return `${days ? days + " d " : ""}${two(hours)}:${two(minutes)}:${(rounded % 60).toFixed(digits).padStart(digits ? digits + 3 : 2, "0")}`;
}
/// A log's own time, with its date if the log spans several days, and no more digits than the log has.
function timeOfDay(t, digits, clock) {
  const us = Math.round(clock.origin_us + clock.offset_s * 1e6 + t), part = us % 1e6, [date, time] = new Date((us - part) / 1e3).toISOString().split(/[T.]/);
  const most = part % 1e3 ? digits : part || !clock.whole ? Math.min(digits, 3) : 0;
  return `${clock.dates ? date + " " : ""}${time}${most ? "." + String(part).padStart(6, "0").slice(0, most) : ""}`;
}
/// The day and zone of a log's times, or only the zone if the log spans several days.
function daysOf(clock) {
  const two = n => ("" + Math.floor(n)).padStart(2, "0"), off = Math.abs(clock.offset_s);
  const zone = off ? "UTC" + (clock.offset_s < 0 ? "-" : "+") + two(off / 3600) + ":" + two(off / 60 % 60) : "UTC";
  return clock.dates ? zone : new Date((clock.origin_us + clock.offset_s * 1e6) / 1e3).toISOString().slice(0, 10) + ", " + zone;
}
/// A time as written in a link, and the time in a link.
function stamp(t) {
  if (!M.clock) return (t / 1e6).toFixed(6);
  const us = Math.round(M.clock.origin_us + t), part = us % 1e3;
  return new Date((us - part) / 1e3).toISOString().slice(0, -1) + ("" + part).padStart(3, "0") + "Z";
}
const stamped = text => M.clock && /^\d{4}-/.test(text) ? Date.parse(text.slice(0, 23) + "Z") * 1e3 + +text.slice(23, 26) - M.clock.origin_us : parseFloat(text) * 1e6;
/// The intervals that a typed time may mean: `05:40` is a minute of each day of the log. Null if it is no time.
function meant(words) {
  const days = words.match(/^(?:(\d+) d )?(\d+):(\d\d):(\d\d(?:\.\d+)?)$/);
  if (days && !M.clock) { const t = ((+(days[1] ?? 0) * 24 + +days[2]) * 60 + +days[3]) * 6e7 + days[4] * 1e6; return [[t, t]]; }
  const epoch = /^\d{10,19}(\.\d+)?$/.test(words) && M.clock ? [1, 1e3, 1e6, 1e9].map(unit => words / unit).find(s => s > 1e9 && s < 4.1e9) : 0;
  if (epoch) { const t = Math.round(epoch * 1e6) - M.clock.origin_us, near = words.includes(".") || words.length > 12 ? 1e3 : 1e6; return [[t, t + near]]; }
  if (/^\d+\.\d+( ?s)?$|^\d+ ?s$/.test(words)) return [[parseFloat(words) * 1e6, parseFloat(words) * 1e6]];
  const said = M.clock && words.match(/^(\d{4}-\d\d-\d\d)?(?:[T ]?(\d\d?):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)?)?\s*(Z|UTC|GMT|[+-]\d\d:?\d\d)?$/i);
  if (!said || !(said[1] || said[2])) return null;
  const [, date, hours, minutes, seconds, part, zone] = said, [sign, h, m] = /^[+-]/.test(zone ?? "") ? [zone[0], +zone.slice(1, 3), +zone.slice(-2)] : [];
  const offset = (sign ? (sign === "-" ? -1 : 1) * (h * 3600 + m * 60) : zone ? 0 : M.clock.offset_s) * 1e6, day = 8.64e10, zero = M.clock.origin_us + offset;
  const inDay = (+(hours ?? 0) * 60 + +(minutes ?? 0)) * 6e7 + +(seconds ?? 0) * 1e6 + +((part ?? "0") + "000000").slice(0, 6);
  const long = !hours ? day : !seconds ? 6e7 : part ? Math.max(1, 10 ** (6 - part.length)) : 1e6, all = [];
  const from = date ? Date.parse(date) * 1e3 : Math.floor((zero + M.begin) / day) * day, to = date ? from : zero + M.end;
  for (let t = from; t <= to; t += day) all.push([t + inDay - zero, t + inDay - zero + long - 1]);
  return all.filter(([a, b]) => b >= M.begin && a <= M.end);
}
const duration = t =>
  t < 1e3 ? Math.round(t) + " µs"
  : t < 1e6 ? +(t / 1e3).toFixed(t < 1e4 ? 2 : t < 1e5 ? 1 : 0) + " ms"
  : t < 6e8 ? +(t / 1e6).toFixed(2) + " s"
  : t < 7.2e9 ? +(t / 6e7).toFixed(1) + " min"
  : t < 1.728e11 ? +(t / 3.6e9).toFixed(1) + " h"
  : +(t / 8.64e10).toFixed(1) + " d";
const plural = (n, noun) => grouped(n) + " " + noun + (n === 1 ? "" : "s");
const nodeName = node => M.nodes[node] ?? "node-" + node;
const leaderName = i => nodeName(M.incarnations[i].node);
const resourceName = r => M.resources[r] ?? "resource-" + r;
/// A label short enough for a narrow band: the token, or the generation.
const shortLabel = i => M.incarnations[i].token ? M.incarnations[i].token : "g" + (M.incarnations[i].generation & 0xffff);
/// The first index whose value, by `of`, is not below `x`.
function lowerBound(list, of, x) {
  let lo = 0, hi = list.length;
  while (lo < hi) {
    const mid = (lo + hi) >> 1;
    if (of(list[mid]) < x) lo = mid + 1; else hi = mid;
  }
  return lo;
}
/// The error of a node's own clock at `t`, microseconds; null if unknown.
function clockOffset(node, t) {
  let last = null;
  for (const c of M.clocks) if (c.node === node && c.t <= t) last = c;
  return last && last.offset_us + (t - last.t) * last.ppm / 1e6;
}
const signed = us => (us > 0 ? "+" : us < 0 ? "−" : "±") + duration(Math.abs(us));
/// When a node's clock was set: a step is a change that its rate does not explain.
function clockSteps(node) {
  const own = M.clocks.filter(c => c.node === node);
  return own.filter((c, i) => {
    const was = own[i - 1] ?? { t: 0, offset_us: 0, ppm: 0 };
    return c.t > 0 && Math.abs(c.offset_us - was.offset_us - (c.t - was.t) * was.ppm / 1e6) > 500;
  });
}
/// A name for a narrow place, without the ending that all of a run's names share.
function shortName(name) {
  if (run.shared === undefined) {
    const names = M.lanes.map(l => nodeName(l.node)).filter(n => n.length > 12);
    let n = 0;
    while (names.length > 1 && n < names[0].length && names.every(other => other.at(-1 - n) === names[0].at(-1 - n))) n++;
    const shared = n ? names[0].slice(-n) : "", from = shared.search(/[.\-_/]/);
    run.shared = from >= 0 && shared.length - from > 5 ? shared.slice(from) : "";
  }
  return run.shared && name.endsWith(run.shared) ? name.slice(0, -run.shared.length) + "…" : name;
}
/// The moments of all runs in order of time. A moment that two runs have in common is one moment of both.
const MOMENTS = [];
RUNS.forEach(r => r.M.moments.forEach(m => {
  const same = r.n ? MOMENTS.find(o => o.t === m.t && o.text === m.text && !o.runs.includes(r.n)) : null;
  if (same) { same.runs.push(r.n); same.of[r.n] = m; } else MOMENTS.push({ ...m, runs: [r.n], of: { [r.n]: m } });
}));
MOMENTS.sort((a, b) => a.t - b.t || a.runs[0] - b.runs[0]);
MOMENTS.forEach((m, place) => m.n = place + 1);
const runsOf = m => m.runs.map(n => RUNS[n].letter).join(" and ");
const inRun = m => TWO ? `In ${m.runs.length > 1 ? "both" : runsOf(m)}: ` : "";

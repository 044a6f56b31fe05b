
// The events: columns of differences, LEB128, deflated. columns.rs defines the format.
const KIND = { INVOKE: 0, REPLY: 1, ISSUE: 2, APPLY: 3, READ_INVOKE: 4, READ_REPLY: 5, RARE: 6 };
const OUTCOMES = ["ok", "unknown", "rejected"], VERDICTS = ["ok", "duplicate", "fenced", "failed"];
const OPERATIONS = ["record", "make", "enact", "delete", "perform", "effect", "complete", "refresh"];
async function inflate(place) {
  const text = atob($("data-" + place).textContent.trim()), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}
/// Readers for each column: `u` reads plain values, `z` differences from the last value with the same key. They avoid
/// bit operations, since request numbers exceed 2³².
function readers(bytes, packed) {
  const columns = {};
  let offset = 0;
  packed.names.forEach((name, place) => {
    let p = offset;
    const last = new Map();
    const u = () => {
      let x = 0, scale = 1, byte;
      do { byte = bytes[p++]; x += (byte & 127) * scale; scale *= 128; } while (byte > 127);
      return x;
    };
    const z = relative => {
      const x = u(), value = (last.get(relative) || 0) + (x % 2 ? -(x + 1) / 2 : x / 2);
      last.set(relative, value);
      return value;
    };
    const take = n => bytes.subarray(p, p += n);
    columns[name] = { u, z, take };
    offset += packed.columns[place];
  });
  return columns;
}
/// Reads the events of a run, and makes that run the current one.
async function decode(of) {
  const c = readers(await inflate(of.place), of.PACKED), n = of.PACKED.n;
  of.E = {
    n, kind: new Uint8Array(n), t: new Float64Array(n), client: new Uint32Array(n), number: new Float64Array(n),
    inc: new Uint32Array(n), res: new Uint16Array(n), seq: new Float64Array(n), read: new Float64Array(n),
    version: new Float64Array(n), verdict: new Uint8Array(n), detail: new Float64Array(n), token: new Float64Array(n),
    node: new Uint16Array(n), operation: new Uint8Array(n), payload: new Map(), rare: new Map(),
  };
  enter(of);
  // Requests without an answer so far, and those whose client gave up: a rejected request was answered.
  const applies = [], unanswered = [], open = new Map(), requestOf = i => E.number[i] * 65536 + E.client[i];
  for (let i = 0; i < n; i++) {
    const k = E.kind[i] = c.kind.u();
    E.t[i] = c.t.z(0);
    if (k === KIND.RARE) { E.rare.set(i, c.line.take(c.rare.u())); continue; }
    const client = E.client[i] = c.client.u();
    if (client) E.number[i] = c.number.z(k * 65536 + client);
    if (k === KIND.INVOKE) open.set(requestOf(i), i); else if (k === KIND.REPLY) open.delete(requestOf(i));
    if (k === KIND.READ_REPLY) E.node[i] = c.node.u();
    if (k === KIND.REPLY || k === KIND.READ_REPLY) {
      if (!(E.verdict[i] = c.outcome.u())) { E.token[i] = c.token.z(0); E.seq[i] = c.reply.z(0); }
      else if (k === KIND.REPLY && OUTCOMES[E.verdict[i]] === "unknown") unanswered.push(i);
    }
    if (k !== KIND.ISSUE && k !== KIND.APPLY) continue;
    const inc = E.inc[i] = c.incarnation.u(), res = E.res[i] = c.resource.u();
    const relative = (k * 16777216 + inc) * 65536 + res;
    E.operation[i] = c.operation.u();
    E.seq[i] = c.seq.z(relative);
    E.read[i] = c.read.z(relative);
    const payload = c.payload.u();
    if (payload) E.payload.set(i, [payload, c.at.z(0)]);
    if (k !== KIND.APPLY) continue;
    E.version[i] = c.version.z(res);
    if (E.verdict[i] = c.verdict.u()) E.detail[i] = c.detail.z(E.verdict[i]);
    applies.push(i);
  }
  E.applies = Uint32Array.from(applies);
  // Requests made at the very end are still in flight.
  for (const i of open.values()) if (M.end - E.t[i] > 1e6) unanswered.push(i);
  E.unanswered = Uint32Array.from(unanswered).sort();
  markStale();
}
/// Marks stale accepted writes: those of a leadership within the intervals that the model has for it.
function markStale() {
  const stretches = new Map(), keyOf = (inc, res) => inc * 65536 + res;
  E.stale = new Uint8Array(E.n);
  for (const s of M.stale) {
    if (!stretches.has(keyOf(s.i, s.r))) stretches.set(keyOf(s.i, s.r), { list: [], place: 0 });
    stretches.get(keyOf(s.i, s.r)).list.push(s);
  }
  if (M.stale.length) for (const i of E.applies) {
    const own = E.verdict[i] ? null : stretches.get(keyOf(E.inc[i], E.res[i]));
    if (!own) continue;
    while (own.place < own.list.length && own.list[own.place].to < E.t[i]) own.place++;
    if (own.place < own.list.length && own.list[own.place].from <= E.t[i]) E.stale[i] = 1;
  }
}
/// The rare events, each with the nodes that it concerns: elections, grants, faults, seals, clocks.
function rareEvents() {
  return run.rares ??= [...E.rare.keys()].map(i => {
    const text = line(i), event = JSON.parse(text);
    return { i, t: E.t[i], event: event.event, about: new Set([event.node, ...(event.on ?? [])]), text };
  });
}
/// The events that invoke and answer each request. Computed on first use.
function requests() {
  if (run.requests) return run.requests;
  const asked = run.requests = new Map();
  for (let i = 0; i < E.n; i++) {
    if (!E.client[i] || E.kind[i] === KIND.ISSUE || E.kind[i] === KIND.APPLY) continue;
    const key = requestOf(i), read = E.kind[i] >= KIND.READ_INVOKE;
    if (!asked.has(key)) asked.set(key, { invoke: -1, reply: -1, read });
    asked.get(key)[E.kind[i] === KIND.INVOKE || E.kind[i] === KIND.READ_INVOKE ? "invoke" : "reply"] = i;
  }
  return asked;
}
const requestOf = i => E.client[i] + ":" + E.number[i];
/// An event as a line of the history; a log's events have the log's own times.
function line(i) {
  return M.clock ? counted(i).replace(/^\{"t_us":(\d+)/, (_, t) => `{"t_us":${M.clock.origin_us + +t}`) : counted(i);
}
function counted(i) {
  const k = E.kind[i];
  if (run.PACKED.exact[i]) return run.PACKED.exact[i];
  if (k === KIND.RARE) return new TextDecoder().decode(E.rare.get(i));
  const o = { t_us: E.t[i], event: ["invoke", "reply", "issue", "apply", "read-invoke", "read-reply"][k] };
  const request = E.client[i] ? nodeName(E.client[i] - 1) + ":" + E.number[i] : null;
  if (k === KIND.ISSUE || k === KIND.APPLY) {
    const by = M.incarnations[E.inc[i]];
    Object.assign(o, { resource: resourceName(E.res[i]), node: nodeName(by.node), token: +by.token, generation: by.generation, seq: E.seq[i] });
    if (M.foreign && !o.generation) delete o.generation;
    if (M.foreign && !by.token) delete o.token;
    if (E.read[i] >= 0) o.read = E.read[i];
    if (k === KIND.APPLY && E.version[i] >= 0) o.version = E.version[i];
    if (request) o.request = request;
    if (E.operation[i]) o.operation = OPERATIONS[E.operation[i]];
    if (E.payload.has(i)) { const [number, at_us] = E.payload.get(i); o.payload = { number, at_us }; }
    if (k === KIND.APPLY) {
      const verdict = E.verdict[i];
      o.verdict = VERDICTS[verdict];
      if (verdict) o[["", "first", "highest", "expected"][verdict]] = E.detail[i];
    }
    return JSON.stringify(o);
  }
  if (k === KIND.READ_REPLY) o.node = nodeName(E.node[i]);
  o.request = request;
  if (k === KIND.REPLY || k === KIND.READ_REPLY) {
    o.outcome = OUTCOMES[E.verdict[i]];
    if (!E.verdict[i]) { o.token = E.token[i]; o.seq = E.seq[i]; }
  }
  return JSON.stringify(o);
}
/// The event that sent a write decided by the store; -1 if the history has none. Computed on first use.
function issueOf(i) {
  if (!run.sentBy) {
    const sentBy = run.sentBy = new Map();
    const key = j => E.inc[j] + ":" + E.res[j] + ":" + E.seq[j], open = new Map();
    for (let j = 0; j < E.n; j++) {
      if (E.kind[j] === KIND.ISSUE) { if (!open.has(key(j))) open.set(key(j), j); }
      else if (E.kind[j] === KIND.APPLY && open.has(key(j))) sentBy.set(j, open.get(key(j)));
    }
  }
  return run.sentBy.get(i) ?? -1;
}
/// The index of the first event in which two runs differ; -1 if all are equal. Leaderships are compared by name, since
/// each run numbers them separately.
function firstDifference([a, b]) {
  const by = (r, i) => { const one = r.M.incarnations[r.E.inc[i]]; return [r.M.nodes[one.node], one.token, one.generation].join(); };
  const same = ["kind", "t", "client", "number", "res", "seq", "verdict", "token"];
  const alike = i => same.every(c => a.E[c][i] === b.E[c][i]) &&
    (a.E.kind[i] === KIND.RARE ? lineIn(a, i) === lineIn(b, i) : a.E.kind[i] === KIND.INVOKE || a.E.kind[i] === KIND.REPLY || by(a, i) === by(b, i));
  const n = Math.min(a.E.n, b.E.n);
  let i = 0;
  while (i < n && alike(i)) i++;
  return i === n && a.E.n === b.E.n ? -1 : i;
}
function lineIn(of, i) {
  const before = run;
  enter(of);
  const text = i < E.n ? line(i) : "";
  enter(before);
  return text;
}

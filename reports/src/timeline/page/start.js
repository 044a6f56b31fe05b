
// Putting it together: what listens to what, and the beginning.
const KEYS = {
  ArrowLeft: () => pan(-.15), ArrowRight: () => pan(.15), "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6),
  0: () => go(BEGIN, END), n: () => pick(selected + 1), p: () => pick(selected - 1), v: nextViolation,
  s: () => rescale(scale === "story" ? "true" : "story"), m: toggleMessages, t: flipTheme, "/": () => $("find").focus(),
  Escape: () => { cursor = link = null; showTip(""); drawOver(); },
};
function listenToKeys() {
  addEventListener("keydown", event => {
    if (event.target.tagName === "INPUT") {
      if (event.key === "Enter") find(event.target.value);
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const clicks = {
    previous: KEYS.p, next: KEYS.n, violation: nextViolation, all: KEYS[0], messages: toggleMessages, theme: flipTheme,
    story: () => rescale("story"), true: () => rescale("true"),
  };
  for (const [id, act] of Object.entries(clicks)) $(id).onclick = act;
  $("raw").addEventListener("toggle", () => fillEvents());
}
function listenToPointer() {
  const canvas = $("lanes"), pointers = new Map();
  let began = [], beganView = [v0, v1], moved = false, selecting = false;
  const restart = () => { began = [...pointers.values()]; beganView = [v0, v1]; };
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    moved = false;
    const on = rows.find(r => event.offsetY >= r.y && event.offsetY < r.y + r.h);
    selecting = event.pointerType === "mouse" && on?.kind === "curves" && event.offsetX >= view.gutter;
    restart();
  });
  canvas.addEventListener("pointermove", event => {
    if (!pointers.has(event.pointerId)) return hover(event.offsetX, event.offsetY, event.clientX, event.clientY);
    pointers.set(event.pointerId, event.offsetX);
    const now = [...pointers.values()], width = beganView[1] - beganView[0];
    if (Math.abs(now[0] - began[0]) > 3) moved = true;
    if (selecting) { selection = [began[0], now[0]]; return drawOver(); }
    const placeOf = (x, a, w) => a + (x - view.gutter) / plotWidth() * w;
    if (now.length === 1 && moved) {
      const shift = (began[0] - now[0]) / plotWidth() * width;
      [v0, v1] = clamped(beganView[0] + shift, beganView[1] + shift);
    } else if (now.length === 2) {
      const spread = Math.abs(began[0] - began[1]) / Math.max(8, Math.abs(now[0] - now[1])) * width;
      const u = placeOf((began[0] + began[1]) / 2, beganView[0], width), left = ((now[0] + now[1]) / 2 - view.gutter) / plotWidth();
      [v0, v1] = clamped(u - left * spread, u + (1 - left) * spread);
      moved = true;
    }
    showTip("");
    redraw();
  });
  const up = event => {
    pointers.delete(event.pointerId);
    if (selection && Math.abs(selection[0] - selection[1]) > 4) {
      const [a, b] = selection.map(x => toPlace(timeAt(x))).sort((x, y) => x - y);
      selection = null;
      go(a, b);
    } else if (!moved) clicked(event);
    selection = null;
    restart();
    settle();
  };
  canvas.addEventListener("pointerup", up);
  canvas.addEventListener("pointercancel", up);
  canvas.addEventListener("pointerleave", event => {
    if (event.pointerType === "touch") return;
    cursor = link = null;
    showTip("");
    drawOver();
  });
  canvas.addEventListener("wheel", event => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    // Without a key the page scrolls, as a wheel does everywhere.
    if (!sideways && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (sideways) pan((event.deltaX || event.deltaY) / plotWidth()); else zoom(Math.exp(event.deltaY * .0015), event.offsetX);
  }, { passive: false });
  const mini = $("mini");
  const move = event => {
    if (!event.buttons) return;
    const t = BEGIN + Math.max(0, Math.min(1, (event.offsetX - view.gutter) / plotWidth())) * (END - BEGIN), u = toPlace(t), half = (v1 - v0) / 2;
    go(u - half, u + half, false);
  };
  mini.addEventListener("pointerdown", event => { mini.setPointerCapture(event.pointerId); move(event); });
  mini.addEventListener("pointermove", move);
}
function clicked(event) {
  const row = rows.find(r => r.kind === "marks" && event.offsetY >= r.y && event.offsetY < r.y + 22);
  const mark = row && row.run.marks.find(m => event.offsetX >= m.x && event.offsetX <= m.x + m.w);
  if (mark) pick(mark.last > selected + 1 && mark.first <= selected + 1 ? selected + 1 : mark.first - 1);
  hover(event.offsetX, event.offsetY, event.clientX, event.clientY);
}
function listenToPage() {
  let waiting = 0;
  new ResizeObserver(() => {
    clearTimeout(waiting);
    waiting = setTimeout(() => { if ($("chart").clientWidth !== view.width) { layout(); redraw(); } }, 30);
  }).observe($("left"));
  const repaint = () => { readTheme(); fillKey(); layout(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", () => { document.documentElement.dataset.was = document.documentElement.dataset.theme ?? ""; document.documentElement.dataset.theme = "light"; repaint(); });
  addEventListener("afterprint", () => {
    const was = document.documentElement.dataset.was;
    if (was) document.documentElement.dataset.theme = was; else delete document.documentElement.dataset.theme;
    repaint();
  });
  addEventListener("hashchange", () => { readLink(); redraw(); });
}
/// `#t=10.241` is an instant, `#t=9..11` a stretch; `m` a moment, `scale=true` the other scale.
function readLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  if (link.get("scale") === "true") setScale("true");
  if (link.get("theme")) { document.documentElement.dataset.theme = link.get("theme"); readTheme(); fillKey(); }
  if (link.get("m")) selected = Math.min(MOMENTS.length, Math.max(1, +link.get("m") || 1)) - 1;
  const [a, b] = (link.get("t") ?? "").split("..").map(t => parseFloat(t) * 1e6);
  if (b > a) [v0, v1] = clamped(toPlace(a), toPlace(b));
  else if (a >= 0) { const u = toPlace(a), half = (END - BEGIN) / 40; [v0, v1] = clamped(u - half, u + half); }
}
async function start() {
  readTheme();
  if (matchMedia("(max-width: 800px)").matches) $("twin").open = false;
  setScale("story");
  fillWords();
  layout();
  readLink();
  draw();
  for (const of of RUNS) await decode(of);
  enter(RUNS[0]);
  fillDifference();
  layout();
  draw();
  if (selected >= 0) pick(selected, false);
  listenToKeys();
  listenToPointer();
  listenToPage();
  // For tests: where things are.
  const of = n => (enter(RUNS[n ?? 0]), true);
  window.timeline = { M: RUNS[0].M, RUNS, MOMENTS, X, of, rowOf, line, issueOf, get view() { return [toTime(v0), toTime(v1)]; }, get scale() { return scale; }, get events() { return E.n; }, draw };
  document.documentElement.dataset.ready = "yes";
}
start();

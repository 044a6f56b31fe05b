
// Event listeners, and the start of the page.
const KEYS = {
  ArrowLeft: () => pan(-.15), ArrowRight: () => pan(.15), "+": () => zoom(.6), "=": () => zoom(.6), "-": () => zoom(1 / .6),
  0: () => go(BEGIN, END), n: () => step(1), p: () => step(-1), l: copyLink, v: nextViolation,
  s: () => rescale(scale === "story" ? "true" : "story"), m: toggleMessages, f: toggleIdle, t: flipTheme, "/": () => $("find").focus(),
  Escape: () => { instant = found = null; $("answer").textContent = ""; leave(); settle(); },
};
// Single-character keys can be switched off, for people who use speech input or hit keys by accident.
let keysOn = true;
function switchKeys(on) {
  keysOn = on;
  $("keys").setAttribute("aria-pressed", on);
  try { localStorage.setItem("fencepost-keys", on ? "on" : "off"); } catch { /* the choice is not stored */ }
}
function listenToKeys() {
  let kept = null;
  try { kept = localStorage.getItem("fencepost-keys"); } catch { /* no storage here */ }
  if (kept === "off") switchKeys(false);
  $("keys").onclick = () => switchKeys(!keysOn);
  addEventListener("keydown", event => {
    if (event.target.tagName === "INPUT") {
      if (event.key === "Enter") find(event.target.value);
      if (event.key === "Escape") event.target.blur();
      return;
    }
    if (/^(TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable || (!keysOn && event.key.length === 1)) return;
    if (event.ctrlKey || event.metaKey || event.altKey || !Object.hasOwn(KEYS, event.key)) return;
    event.preventDefault();
    KEYS[event.key]();
  });
  const clicks = {
    previous: KEYS.p, next: KEYS.n, violation: nextViolation, all: KEYS[0], messages: toggleMessages, link: copyLink, theme: flipTheme,
    story: () => rescale("story"), true: () => rescale("true"),
  };
  for (const [id, act] of Object.entries(clicks)) $(id).onclick = act;
  $("raw").addEventListener("toggle", () => fillEvents());
}
function listenToPointer() {
  for (const canvas of [$("lanes"), $("head")]) listenToCanvas(canvas);
  listenToMini();
  addEventListener("pointerdown", event => { if (!$("chart").contains(event.target)) leave(); });
  let scrolled = 0;
  addEventListener("scroll", () => {
    if (!scrolled) scrolled = requestAnimationFrame(() => {
      scrolled = 0;
      // The hovered item has moved away from under the pointer.
      if (pointer && Math.abs(pointer[3] - $("lanes").getBoundingClientRect().top - pointer[1]) > 2) leave(); else drawHead();
    });
  }, { passive: true });
}
/// Where on the chart an event is; on the copy of the axis, what it copies counts.
const onChart = event => event.offsetY + (event.target === $("head") ? headFrom : 0);
function listenToCanvas(canvas) {
  const pointers = new Map();
  let began = [], beganView = [v0, v1], moved = false, selecting = false;
  const restart = () => { began = [...pointers.values()]; beganView = [v0, v1]; };
  canvas.addEventListener("pointerdown", event => {
    canvas.setPointerCapture(event.pointerId);
    pointers.set(event.pointerId, event.offsetX);
    moved = false;
    const on = rows.find(r => onChart(event) >= r.y && onChart(event) < r.y + r.h);
    selecting = event.pointerType === "mouse" && on?.kind === "curves" && event.offsetX >= view.gutter;
    restart();
  });
  canvas.addEventListener("pointermove", event => {
    if (!pointers.has(event.pointerId)) return hover(event.offsetX, onChart(event), event.clientX, event.clientY);
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
    pointer = null;
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
    leave();
  });
  canvas.addEventListener("wheel", event => {
    const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY) || event.shiftKey;
    // Without a modifier key the page scrolls as usual.
    if (!sideways && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    if (sideways) pan((event.deltaX || event.deltaY) / plotWidth()); else zoom(Math.exp(event.deltaY * .0015), event.offsetX);
  }, { passive: false });
}
function listenToMini() {
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
  const y = onChart(event), row = rows.find(r => y >= r.y && y < r.y + r.h), on = row && markAt(row, event.offsetX, y);
  if (on) pick(on.last > selected + 1 && on.first <= selected + 1 ? selected + 1 : on.first - 1);
  else if (row?.folds) toggleIdle();
  else if (row && event.offsetX >= view.gutter) mark(Math.min(END, Math.max(0, timeAt(event.offsetX))));
  hover(event.offsetX, y, event.clientX, event.clientY);
}
function listenToPage() {
  let waiting = 0, tall = innerHeight;
  const later = () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      // A phone's bars appear and disappear: that is no resize.
      if ($("chart").clientWidth === view.width && (innerHeight === tall || view.phone)) return;
      tall = innerHeight;
      layout();
      redraw();
    }, 30);
  };
  new ResizeObserver(later).observe($("left"));
  addEventListener("resize", later);
  const repaint = () => { readTheme(); fillKey(); layout(); draw(); };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
  addEventListener("beforeprint", () => { document.documentElement.dataset.was = document.documentElement.dataset.theme ?? ""; document.documentElement.dataset.theme = "light"; printed(true); repaint(); });
  addEventListener("afterprint", () => {
    const was = document.documentElement.dataset.was;
    if (was) document.documentElement.dataset.theme = was; else delete document.documentElement.dataset.theme;
    printed(false);
    repaint();
  });
  addEventListener("hashchange", () => { if (groupOf() !== GROUP) return location.reload(); readLink(); redraw(); settle(); });
}
/// Lays the page out for printing: as wide as a sheet, with the table of moments.
let opened = false;
function printed(on) {
  printing = on;
  $("chart").style.width = on ? "700px" : "";
  if (on) { opened = $("twin").open; $("twin").open = true; leave(); } else $("twin").open = opened;
}
/// `#t=10.241` is an instant, `#t=9..11` an interval; `m` a moment, `scale=true` the other scale.
function readLink() {
  const link = new URLSearchParams(location.hash.slice(1));
  setScale(link.get("scale") === "true" ? "true" : "story");
  if (link.get("theme")) { document.documentElement.dataset.theme = link.get("theme"); readTheme(); fillKey(); }
  found = null;
  selected = !link.get("m") ? -1 : Math.min(MOMENTS.length, Math.max(1, +link.get("m") || 1)) - 1;
  const [a, b] = (link.get("t") ?? "").split("..").map(stamped);
  const on = stamped(link.get("at") ?? "");
  instant = on >= 0 ? on : b > a || !(a >= 0) ? null : a;
  highlight();
  if (b > a) [v0, v1] = clamped(toPlace(a), toPlace(b));
  else if (a >= 0) { const u = toPlace(a), half = (END - BEGIN) / 40; [v0, v1] = clamped(u - half, u + half); }
  else [v0, v1] = [BEGIN, END];
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
  fillKey();
  layout();
  draw();
  const linked = instant;
  if (selected >= 0) pick(selected, false);
  instant = linked;
  listenToKeys();
  listenToPointer();
  listenToPage();
  // For tests: where things are.
  const of = n => (enter(RUNS[n ?? 0]), true);
  window.timeline = { M: RUNS[0].M, RUNS, MOMENTS, X, of, rowOf, rows: () => rows, line, issueOf, get view() { return [toTime(v0), toTime(v1)]; }, get scale() { return scale; }, get events() { return E.n; }, draw };
  document.documentElement.dataset.ready = "yes";
}
start();

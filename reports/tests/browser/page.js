// What the page of a run must do in a browser.
//   node page.js CHROMIUM PAGE.html HISTORY.jsonl PROFILE_FOLDER
// tests/all/browser.rs makes the page and calls this.
"use strict";
const { readFileSync } = require("node:fs");
const { call, check, evaluate, key, load, media, mouse, pause, phone, run, until } = require("./driver.js");
const history = process.argv[4];
const view = () => evaluate("timeline.view");
const live = () => evaluate("document.getElementById('live').textContent");
const tip = () => evaluate("getComputedStyle(document.getElementById('tip')).display === 'block' ? document.getElementById('tip').innerText : ''");
const width = ([a, b]) => b - a;
const lanes = () => evaluate("(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return [r.left, r.top]; })()");

async function keys() {
  await key("n");
  const first = await live();
  check(/^1\. .*elected|^1\. /.test(first), "n goes to the first moment: " + first);
  await key("n");
  check(/^2\. /.test(await live()), "n goes to the next");
  await key("p");
  check(await live() === first, "p goes back");
  await key("v");
  check(/ACCEPTED although stale/.test(await live()), "v goes to the violation: " + await live());
  const before = await view();
  await key("+");
  const near = await view();
  check(width(near) < width(before), "+ zooms in");
  await key("ArrowRight");
  check((await view())[0] > near[0], "an arrow pans");
  await key("s");
  check(await evaluate("timeline.scale") === "true", "s changes the scale");
  await key("s");
  await key("0");
  const all = await view();
  check(all[0] === 0 && all[1] >= (await evaluate("timeline.M.end")), "0 shows the whole run");
}

async function pointer() {
  const [left, top] = await lanes();
  const [x, y] = await evaluate("(() => { timeline.of(); const s = timeline.M.stale.find(s => s.r === 0); return [timeline.X(s.from), timeline.rowOf('store').Y(s.seq)]; })()");
  await mouse("mouseMoved", left + x, top + y);
  await pause(60);
  const over = await tip();
  check(/ACCEPTED although stale/.test(over) && /"verdict":"ok"/.test(over), "hovering the stale write shows the event: " + over.replace(/\n/g, " | "));
  const lane = await evaluate("(() => { timeline.of(); const s = timeline.M.shades.find(s => s.kind === 'pause'), r = timeline.rowOf('node', s.nodes[0]); return [timeline.X((s.from + s.to) / 2), r.y + r.h / 2]; })()");
  await mouse("mouseMoved", left + lane[0], top + lane[1]);
  await pause(60);
  const words = await tip();
  check(/paused/.test(words) && /believes that it leads/.test(words), "hovering a lane says what its node does: " + words.replace(/\n/g, " | "));
  const before = await view();
  await mouse("mouseWheel", left + x, top + y, { deltaX: 0, deltaY: -300, modifiers: 2 });
  await pause(200);
  const near = await view();
  check(width(near) < width(before), "Ctrl and wheel zooms");
  await mouse("mousePressed", left + 600, top + y, { button: "left", buttons: 1, clickCount: 1 });
  for (const dx of [20, 60, 120]) await mouse("mouseMoved", left + 600 - dx, top + y, { button: "left", buttons: 1 });
  await mouse("mouseReleased", left + 480, top + y, { button: "left", clickCount: 1 });
  await pause(200);
  check((await view())[0] > near[0], "dragging pans");
  check(/^#t=\d/.test(await evaluate("location.hash")), "the address names the view");
  await key("0");
}

async function words() {
  check(!(await evaluate("window.injected === true || document.querySelector('img') !== null")), "a node's name is text, whatever is in it");
  check(await evaluate("document.body.innerText.includes('<img src=x')"), "and it is shown as it is");
  const table = await evaluate("document.querySelectorAll('#table tbody tr').length");
  check(table === (await evaluate("timeline.M.moments.length")) && table > 4, `the table has every moment: ${table}`);
  await evaluate("document.querySelector('#table tr[data-i=\"2\"]').focus()");
  await key("Enter");
  check(/^3\. /.test(await live()), "Enter on a row of the table shows it: " + await live());
  await key("ArrowDown");
  check(await evaluate("document.activeElement.dataset.i") === "3", "arrows walk through the table");
  await evaluate("document.getElementById('raw').open = true");
  await until("document.querySelectorAll('#events tbody tr').length > 10", "every event of the view");
  const event = await evaluate("JSON.parse(document.querySelector('#events tbody tr:nth-child(8) code').textContent).event");
  check(typeof event === "string", "events are lines of the history: " + event);
  const label = await evaluate("document.getElementById('chart').getAttribute('aria-label')");
  check(label.length > 50, "the picture has a description");
}

const answered = () => evaluate("(() => { const a = document.getElementById('answer'); return a.getBoundingClientRect().left >= 0 ? a.innerText : ''; })()");
async function search(words) {
  await evaluate(`document.getElementById('find').value = ${JSON.stringify(words)}; document.getElementById('find').focus()`);
  await key("Enter");
  await evaluate("document.activeElement.blur()");
  return answered();
}
/// Links to an instant, searches with answers, text that follows the view, keys that can be switched off, printing.
async function instants() {
  const stale = await evaluate("[timeline.RUNS[0].E.stale.reduce((a, b) => a + b), timeline.M.stale.reduce((a, s) => a + s.n, 0)]");
  check(stale[0] > 0 && stale[0] === stale[1], "every stale write is known as one: " + stale);
  await load("#t=8.5&scale=true&m=2");
  check(await evaluate("/[&]at=8.500000/.test(location.hash) || new Promise(done => setTimeout(() => done(/&at=8.500000/.test(location.hash)), 400))"), "a link to an instant keeps it: " + await evaluate("location.hash"));
  await evaluate("location.hash = ''");
  await until("timeline.scale === 'story' && !document.querySelector('#list [aria-current]')", "a link without anything sets everything back");
  check((await view())[0] === 0, "and shows the whole run");
  check(/Nothing found/.test(await search("zzz")), "a search without a result says so where one can see it: " + await answered());
  check(/1 of \d+ events? found/.test(await search(String(await evaluate("timeline.M.stale[0].seq")))), "a found event is told of: " + (await answered()).slice(0, 60));
  await load();
  const [left, top] = await lanes();
  const lane = await evaluate("(() => { timeline.of(); const s = timeline.M.shades.find(s => s.kind === 'pause'), r = timeline.rowOf('node', s.nodes[0]); return [timeline.X((s.from + s.to) / 2), r.y + r.h / 2]; })()");
  await mouse("mouseMoved", left + lane[0], top + lane[1]);
  await pause(60);
  const before = await tip();
  await key("+");
  await key("+");
  const after = await tip();
  check(before && after !== before, "the words follow when keys move the view");
  const fault = await evaluate("(() => { timeline.of(); const s = timeline.M.shades.find(s => s.kind === 'pause'), r = timeline.rowOf('node', s.nodes[0]); return [timeline.X(s.from), r.y + 30]; })()");
  await mouse("mouseMoved", left + fault[0], top + fault[1]);
  await pause(60);
  check(/"event":"fault"/.test(await tip()), "a fault shows its event too");
  await evaluate("document.getElementById('heads').dispatchEvent(new PointerEvent('pointerdown', { bubbles: true }))");
  check(await tip() === "", "a touch elsewhere takes the words away");
  await evaluate("document.getElementById('keys').click()");
  await key("v");
  check(!/ACCEPTED/.test(await live()), "keys can be switched off");
  await evaluate("document.getElementById('keys').click()");
  check(/writes from their leader/.test(await evaluate("document.getElementById('messages').title")), "the button says which messages there are");
  await evaluate("document.body.style.paddingBottom = '2000px'; scrollTo(0, document.getElementById('lanes').getBoundingClientRect().top + scrollY + 200)");
  check(await until("getComputedStyle(document.getElementById('head')).display === 'block' && Math.abs(document.getElementById('head').getBoundingClientRect().top) < 2", "the axis stays in view"), "the axis stays in view");
  await evaluate("document.getElementById('raw').open = true");
  await until("document.querySelectorAll('#events tbody tr').length > 10", "every event of the view");
  check(await evaluate("document.querySelectorAll('#tables tr[tabindex=\"0\"]').length") === 2, "a table is one stop of the Tab key");
  await evaluate("dispatchEvent(new Event('beforeprint'))");
  check(await evaluate("document.getElementById('lanes').style.width") === "700px", "on paper the chart is as wide as the page");
  await evaluate("dispatchEvent(new Event('afterprint'))");
  check(await evaluate("document.getElementById('lanes').style.width") !== "700px", "and as before afterwards");
}

async function main() {
  if (!await load()) return;
  check(await evaluate("timeline.events") === (await evaluate("timeline.M.events")), "every event was decoded");
  const sorted = text => JSON.stringify(Object.entries(JSON.parse(text)).sort());
  const written = readFileSync(history, "utf8").trim().split("\n").slice(1);
  const decoded = await evaluate("Array.from({ length: timeline.events }, (_, i) => timeline.line(i))");
  const other = written.findIndex((text, i) => sorted(text) !== sorted(decoded[i]));
  check(other < 0 && decoded.length === written.length, `all ${written.length} events are as they were written` + (other < 0 ? "" : `; ${written[other]} became ${decoded[other]}`));
  check(/paused .* and wrote at/.test(await evaluate("document.getElementById('cause').innerText")), "the cause: " + await evaluate("document.getElementById('cause').innerText"));
  const drawn = "(() => { const c = document.getElementById('lanes'), d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0; for (let i = 3; i < d.length; i += 4) if (d[i]) n++; return n / (d.length / 4); })()";
  check(await evaluate(drawn) > .05, "something is drawn");
  await keys();
  await pointer();
  await words();
  const t = await evaluate("timeline.M.stale[0].from / 1e6");
  await load("#t=" + t);
  const [a, b] = await view();
  check(a < t * 1e6 && b > t * 1e6 && b - a < (await evaluate("timeline.M.end")), `a link to ${t} s shows it`);
  await instants();
  await load("#t=" + t);
  await media("prefers-reduced-motion", "reduce");
  await evaluate("dispatchEvent(new KeyboardEvent('keydown', { key: '0' }))");
  check((await view())[0] === 0, "with reduced motion the view changes at once");
  check(await evaluate("document.querySelector('nav').offsetHeight < 60"), "the buttons take one line");
  await phone();
  await load();
  check(await evaluate("document.documentElement.scrollWidth <= 391"), "it fits a phone");
}
run(main);

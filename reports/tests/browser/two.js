// What the page of two runs must do in a browser: the same plan with fencing off (A) and on (B).
//   node two.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, key, load, media, mouse, pause, phone, picture, run, until } = require("./driver.js");
const live = () => evaluate("document.getElementById('live').textContent");
const view = () => evaluate("timeline.view");
const tip = () => evaluate("getComputedStyle(document.getElementById('tip')).display === 'block' ? document.getElementById('tip').innerText : ''");

async function heads() {
  const text = await evaluate("document.getElementById('heads').innerText");
  check(/A\s+✗ Safety violated/.test(text) && /B\s+✓ Safe/.test(text), "both verdicts are told");
  check(/accepted it, because fencing was off/.test(text) && /refused it: it had seen a higher token/.test(text), "both causes are told");
  await until("document.getElementById('differ').textContent.length > 20", "where they part");
  const differ = await evaluate("document.getElementById('differ').innerText");
  check(/^The same for \d+ events?, up to \d/.test(differ) && /in A: ACCEPTED although stale/.test(differ), "where they part: " + differ.split("\n")[0]);
  const lines = await evaluate("[...document.querySelectorAll('#differ code')].map(c => JSON.parse(c.textContent).verdict)");
  check(lines.join() === "ok,fenced", "the first event that differs: " + lines);
}
async function axis() {
  const [begin, end] = await view();
  check(begin === 0 && end === await evaluate("Math.max(...timeline.RUNS.map(r => r.M.end))"), "one axis has both runs");
  const stale = await evaluate("(() => { timeline.of(0); const s = timeline.M.stale[0]; return [timeline.X(s.from), timeline.rowOf('store').Y(s.seq)]; })()");
  const refused = await evaluate("(() => { timeline.of(1); const r = timeline.RUNS[1].M.refused[0]; return [timeline.X(r.from), timeline.rowOf('store').Y(r.seq)]; })()");
  check(Math.abs(stale[0] - refused[0]) < 1 && refused[1] > stale[1] + 100, "what happens at one time is in one place, B below A");
  await evaluate("document.getElementById('chart').scrollIntoView()");
  const [left, top] = await evaluate("(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return [r.left, r.top]; })()");
  for (const [[x, y], words, letter] of [[stale, /ACCEPTED although stale/, "A"], [refused, /refused \(fenced\)/, "B"]]) {
    await evaluate(`scrollTo(0, ${top} + scrollY + ${y} - 450)`);
    const now = await evaluate("document.getElementById('lanes').getBoundingClientRect().top");
    await mouse("mouseMoved", left + x, now + y);
    await pause(80);
    check(words.test(await tip()), `hovering in ${letter} shows its own event: ${(await tip()).split("\n")[0]}`);
  }
}
async function keys() {
  const before = await view();
  await key("+");
  const near = await view();
  check(near[1] - near[0] < before[1] - before[0], "+ zooms both");
  await key("ArrowRight");
  check((await view())[0] > near[0], "an arrow pans both");
  await key("0");
  await key("v");
  check(/In A: ACCEPTED although stale/.test(await live()), "v goes to the violation and says in which run: " + await live());
  const all = await evaluate("timeline.MOMENTS.length"), seen = [];
  await key("p");
  for (let i = 0; i < 9; i++) { await key("n"); seen.push(await live()); }
  check(seen.some(words => /In B: refused/.test(words)), "n walks through the moments of both");
  const rows = await evaluate("[...document.querySelectorAll('#table tbody tr')].map(r => r.children[2].textContent)");
  check(rows.length === all && rows.includes("A and B") && rows.includes("A") && rows.includes("B"), `the table has every moment, and of which run: ${all}`);
  await evaluate("document.getElementById('raw').open = true");
  await until("document.querySelectorAll('#events tbody tr').length > 10", "every event of the view");
  const letters = await evaluate("[...new Set([...document.querySelectorAll('#events tbody tr')].map(r => r.children[1].textContent))].sort().join('')");
  check(letters === "AB", "the events of both: " + letters);
}
run(async () => {
  if (!await load()) return;
  check(await evaluate("timeline.RUNS.every(r => r.E.n === r.M.events)"), "every event of both was decoded");
  await picture("two");
  await heads();
  await axis();
  await keys();
  const t = await evaluate("timeline.RUNS[1].M.refused[0].from / 1e6");
  await load("#t=" + t + "&m=3");
  const [a, b] = await view();
  check(a < t * 1e6 && b > t * 1e6 && b - a < await evaluate("timeline.M.end"), `a link to ${t} s shows that instant of both`);
  await media("prefers-color-scheme", "dark");
  await phone();
  await load();
  check(await evaluate("document.documentElement.scrollWidth <= 391"), "it fits a phone");
  const top = await evaluate("document.getElementById('chart').getBoundingClientRect().top");
  check(top < 844 / 2, `half of a phone's screen shows the picture at once: it begins at ${top}`);
  check(await evaluate("['cause', 'why', 'why-b'].every(id => document.getElementById(id).offsetHeight > 0)"), "with the cause, and what each store made of it");
  await picture("two-phone-dark");
});

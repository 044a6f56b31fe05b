// What the page of a run shows of its service's members and of lanes in which nothing happens.
//   node members.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, key, load, mouse, pause, picture, phone, run } = require("./driver.js");
const lanes = () => evaluate("(() => { timeline.of(); return timeline.rows().map(r => r.kind + ' ' + (r.nodes ?? [r.node]).map(n => timeline.M.nodes[n]).join('+')).filter(r => /^(node|member|idle)/.test(r)).join(', '); })()");
const FOLDED = "node n1, idle n2+n3+n4+n5, member zk-1, member zk-2, idle zk-3";
run(async () => {
  if (!await load()) return;
  check(await lanes() === FOLDED, "idle lanes are one, and the members that led have theirs: " + await lanes());
  check(await evaluate("JSON.stringify(timeline.M.led)") === "[[5,0,5000000],[6,6000000,10000000]]", "who led the members, and until when: " + await evaluate("JSON.stringify(timeline.M.led)"));
  check(await evaluate("timeline.MOMENTS.some(m => m.text === 'zk-2 leads the members of the service' && m.t === 6e6)"), "a change of their leader is a moment");
  check(/leads the members of the service/.test(await evaluate("document.getElementById('key').innerText")), "the key has its sign");
  const [left, top] = await evaluate("(() => { const r = document.getElementById('lanes').getBoundingClientRect(); return [r.left, r.top]; })()");
  const [x, y, idle] = await evaluate("(() => { timeline.of(); const r = timeline.rowOf('member', 6); return [timeline.X(8e6), r.y + r.h / 2, timeline.rowOf('idle').y + 10]; })()");
  await mouse("mouseMoved", left + x, top + y);
  await pause(60);
  check(/leads the members: 6\.0+ s/.test(await evaluate("document.getElementById('tip').innerText")), "hovering says so: " + await evaluate("document.getElementById('tip').innerText"));
  await picture("members");
  for (const type of ["mousePressed", "mouseReleased"]) await mouse(type, left + x, top + idle, { button: "left", clickCount: 1 });
  await pause(60);
  check(/^node n1, node n2, node n3, node n4, node n5, idle/.test(await lanes()), "a click unfolds them: " + await lanes());
  await key("f");
  check(await lanes() === FOLDED, "a key folds them");
  await phone();
  await load();
  check(await evaluate("document.documentElement.scrollWidth <= 391"), "it fits a phone");
  await picture("members-phone");
});

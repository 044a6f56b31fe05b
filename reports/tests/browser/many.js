// A page of 100,000 events: how soon it can be used, and how long drawing a moving picture takes.
//   node many.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, key, load, run } = require("./driver.js");
run(async () => {
  const began = Date.now();
  if (!await load()) return;
  const ready = Date.now() - began;
  check(await evaluate("timeline.events") >= 100_000, "so many events: " + await evaluate("timeline.events"));
  // Test machines are slow and shared: the bound is twice what people are promised.
  check(ready < 4_000, `it can be used after ${ready} ms`);
  const frame = "(() => { const began = performance.now(); timeline.draw(); return performance.now() - began; })()";
  const times = [];
  for (let i = 0; i < 9; i++) { await key("ArrowRight"); times.push(await evaluate(frame)); }
  times.sort((a, b) => a - b);
  check(times[4] < 100, `one picture takes ${times[4].toFixed(1)} ms in the median, ${times[8].toFixed(1)} at most`);
  for (let i = 0; i < 6; i++) await key("+");
  check(await evaluate(frame) < 100, `and ${(await evaluate(frame)).toFixed(1)} ms near by`);
  await evaluate('document.getElementById("find").value = JSON.parse(timeline.line(timeline.events - 1)).request');
  await evaluate("document.getElementById('find').focus()");
  await key("Enter");
  check(/event/.test(await evaluate("document.getElementById('live').textContent")), "it finds a request: " + (await evaluate("document.getElementById('live').textContent")).slice(0, 80));
});

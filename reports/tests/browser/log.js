// What the page of a log must do that another service wrote.
//   node log.js CHROMIUM PAGE.html LOG.jsonl PROFILE_FOLDER
// tests/all/browser.rs makes the page and calls this.
"use strict";
const { readFileSync } = require("node:fs");
const { check, evaluate, key, load, picture, run } = require("./driver.js");
const sorted = text => JSON.stringify(text.slice(1, -1).split(/,(?=")/).sort());
run(async () => {
  if (!await load()) return;
  await picture("log");
  const written = readFileSync(process.argv[4], "utf8").trim().split("\n");
  const decoded = await evaluate("Array.from({ length: timeline.events }, (_, i) => timeline.line(i))");
  const other = written.findIndex((text, i) => sorted(text) !== sorted(decoded[i]));
  check(other < 0, "events are as they were written, tokens digit for digit, and nothing is added" + (other < 0 ? "" : `; ${written[other]} became ${decoded[other]}`));
  check(/0 s is 2026-01-01T00:00:00Z/.test(await evaluate("document.querySelector('.meta').textContent")), "the page says what 0 s is");
  const unanswered = await evaluate("[...timeline.RUNS[0].E.unanswered].map(i => JSON.parse(timeline.line(i)).request).sort().join()");
  check(unanswered === "c:2,c:3", "what was rejected was answered: " + unanswered);
  const strips = await evaluate("(timeline.of(), [1, 2].map(r => !!timeline.RUNS[0].M.strips.includes(r)).join())");
  check(strips === "true,true" && await evaluate("!!timeline.rowOf('strip')"), "every resource has a strip: " + strips);
  await key("v");
  const live = await evaluate("document.getElementById('live').textContent");
  check(/ACCEPTED although stale.* on payments/.test(live), "v goes to the violation on the third of them: " + live);
  const turns = await evaluate("document.getElementById('turns').innerText");
  check(/w-9007199254740993, token 9007199254740993/.test(turns), "the table of leaderships has the token: " + turns.slice(0, 200).replace(/\s+/g, " "));
  check(/payments: .*1 of them from the past/s.test(turns) && /orders: /.test(turns), "and what took effect where");
  const head = await evaluate("[...document.querySelectorAll('#turns th[scope=col]')].map(th => th.textContent).join()");
  check(head === "Leadership,Granted,Believed,Without ground,Took effect", "its columns: " + head);
});

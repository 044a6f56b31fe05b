// What the page of another service's log must do.
//   node log.js CHROMIUM PAGE.html LOG.jsonl PROFILE_FOLDER
// tests/all/browser.rs makes the page and calls this.
"use strict";
const { readFileSync } = require("node:fs");
const { check, evaluate, key, load, picture, run } = require("./driver.js");
// The log begins at midnight, and the page shows its own times.
const own = text => text.replace(/"t_us":(\d+)/, (_, t) => `"t_us":${1767225600000000 + +t}`);
const sorted = text => JSON.stringify(text.slice(1, -1).split(/,(?=")/).sort());
run(async () => {
  if (!await load()) return;
  await picture("log");
  const written = readFileSync(process.argv[4], "utf8").trim().split("\n");
  const decoded = await evaluate("Array.from({ length: timeline.events }, (_, i) => timeline.line(i))");
  const other = written.findIndex((text, i) => sorted(own(text)) !== sorted(decoded[i]));
  check(other < 0, "events are as they were written, tokens digit for digit, and nothing is added" + (other < 0 ? "" : `; ${written[other]} became ${decoded[other]}`));
  check(/times: 2026-01-01, UTC/.test(await evaluate("document.querySelector('.meta').textContent")), "the page says of which day its times are");
  const times = await evaluate("[...document.querySelectorAll('#list .t')].map(t => t.textContent).join()");
  check(/^(00:00:(00|14)\.\d{3},?)+$/.test(times), "moments are told in the log's own times: " + times);
  check(!/\d s\b/.test(await evaluate("document.getElementById('table').innerText")), "and nowhere in seconds");
  const find = words => evaluate(`(() => { const f = document.getElementById('find'); f.value = ${JSON.stringify(words)}; f.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', bubbles: true })); return document.getElementById('answer').textContent; })()`);
  for (const words of ["00:00", "00:00:14", "2026-01-01T00:00:14Z", "2026-01-01 01:00:14+01:00", "1767225614"]) {
    const said = await find(words);
    check(/moments? at |^At 00:00:14/.test(said), `a search for ${words} finds: ${said}`);
  }
  check(/has no 05:40/.test(await find("05:40")) && /At 00:00:10/.test(await find("00:00:10")), "what is not in it is said, and what lies between moments is gone to");
  const link = await evaluate("(document.dispatchEvent(new Event('x')), new Promise(done => setTimeout(() => done(location.hash), 400)))");
  check(/at=2026-01-01T00:00:10/.test(link), "a link has the log's own time: " + link);
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
  check(head === "Leadership,Granted,Believed,Wrongly believed,Took effect", "its columns: " + head);
});

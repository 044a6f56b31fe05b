// What the page of a run with several groups must do in a browser: it begins with the group in which something was
// wrong.
//   node groups.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, load, picture, run, until } = require("./driver.js");
const title = () => evaluate("timeline.M.title"), links = () => evaluate("[...document.querySelectorAll('.groups a')].map(a => a.textContent.trim())");
const here = () => evaluate("document.querySelector('.groups a[aria-current]').textContent.trim()");
async function turn(n) {
  await evaluate(`document.querySelectorAll('.groups a')[${n}].click()`);
  return until(`document.documentElement.dataset.ready === 'yes' && timeline.M.title.includes('group ${n} of')`, `group ${n}`);
}
run(async () => {
  if (!await load()) return;
  await picture("groups");
  const all = await links(), first = await here();
  check(all.length === 2 && all.filter(words => words.startsWith("✗")).length === 1, "each group and what it came to: " + all);
  check(first.startsWith("✗"), "it begins with the one that is wrong: " + first);
  const bad = all.indexOf(first), good = 1 - bad, events = await evaluate("timeline.events");
  check(new RegExp(`group ${bad} of 2`).test(await title()), "and says which: " + await title());
  if (!await turn(good)) return;
  check(await here() === all[good] && await evaluate("!timeline.M.bad && timeline.RUNS[0].E.n === timeline.M.events"), "another group has its own events: " + await evaluate("timeline.events") + " beside " + events);
  await evaluate("document.getElementById('all').click()");
  check(await until(`location.hash.includes('group=${good}') && location.hash.includes('t=')`, "a link to a view of it"), "a link to a view says the group: " + await evaluate("location.hash"));
  if (!await turn(bad)) return;
  check(await here() === first, "and back");
});

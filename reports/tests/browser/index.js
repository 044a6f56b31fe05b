// What the index of a sweep must do in a browser.
//   node index.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, key, load, media, phone, picture, run } = require("./driver.js");
const rows = n => evaluate(`[...document.querySelectorAll('#table-${n} tbody tr')].map(r => [...r.children].map(c => c.textContent))`);
async function type(n, words) {
  await evaluate(`(() => { const i = document.querySelector('#table-${n} input'); i.value = ${JSON.stringify(words)}; i.dispatchEvent(new Event('input')); })()`);
  return rows(n);
}
run(async () => {
  if (!await load()) return;
  await picture("index");
  check(/broke a promise/.test(await evaluate("document.getElementById('verdict').innerText")), "the verdict comes first");
  const story = await evaluate("document.querySelector('.story').innerText");
  check(/n3 wrote at 10\.242 s/.test(story), "a failure has its story: " + story.split("\n")[1]);
  check(await evaluate("document.querySelector('.story a').getAttribute('href')") === "gc-pause/x%20y/0/timeline.html", "and a link to its timeline");
  check(!(await evaluate("window.injected === true || document.querySelector('img') !== null")), "a name is text, whatever is in it");
  const all = await rows(0), scenarios = all.map(r => r[0]);
  check(all.length === 40, `every row is there: ${all.length}`);
  const head = i => evaluate(`document.querySelectorAll('#table-0 thead button')[${i}].click()`);
  await head(9);
  const down = (await rows(0)).map(r => parseFloat(r[9].replace(",", ""))).filter(n => !Number.isNaN(n));
  check(down.every((n, i) => !i || n <= down[i - 1]) && down.length > 20, "a click on a column of numbers sorts, largest first");
  check((await rows(0)).at(-1)[9] === "–", "what is not there comes last");
  await head(9);
  const up = (await rows(0)).map(r => parseFloat(r[9].replace(",", ""))).filter(n => !Number.isNaN(n));
  check(up.every((n, i) => !i || n >= up[i - 1]), "and again the other way");
  check((await rows(0)).at(-1)[9] === "–", "what is not there still comes last");
  check(await evaluate("document.querySelectorAll('#table-0 thead th')[9].getAttribute('aria-sort')") === "ascending", "and says so");
  await head(0);
  check((await rows(0)).map(r => r[0]).join() === [...scenarios].sort((a, b) => a.localeCompare(b)).join(), "words sort as words");
  check((await type(0, "gc-pause raft")).every(r => r[0] === "gc-pause" && r[1].includes("raft")), "a filter keeps rows that have every word");
  check((await type(0, "gc-pause -raft")).every(r => !r[1].includes("raft")), "and not those that are named with a minus");
  const broken = await type(0, "broken>0");
  check(broken.length === 1 && broken[0][5] === "3", "a column can be compared");
  check((await type(0, "nothing-like-it")).length === 0, "a filter that nothing holds leaves no row");
  check(/^0 of 40 rows/.test(await evaluate("document.querySelector('#table-0 [role=status]').textContent")), "and says how many are left");
  await type(0, "");
  await evaluate("(() => { const s = document.querySelector('#table-0 select'); s.value = '9'; s.dispatchEvent(new Event('change')); })()");
  check(await evaluate("document.querySelectorAll('#table-0 svg rect').length") > 40, "bars of a column");
  await evaluate("document.querySelector('#table-0 thead button').focus()");
  await key("Enter");
  check(await evaluate("document.querySelector('#table-0 thead th').getAttribute('aria-sort')") === "descending", "Enter on a column sorts it");
  await media("prefers-color-scheme", "dark");
  await phone();
  await load();
  check(await evaluate("document.documentElement.scrollWidth <= 391"), "it fits a phone");
  await picture("index-phone-dark");
});

// What a page of several reports must do in a browser: a section for each, a grid, plots.
//   node sections.js CHROMIUM PAGE.html - PROFILE_FOLDER
"use strict";
const { check, evaluate, load, media, phone, picture, run } = require("./driver.js");
const rows = n => evaluate(`[...document.querySelectorAll('#table-${n} tbody tr')].map(r => [...r.children].map(c => c.textContent))`);
run(async () => {
  if (!await load()) return;
  const heads = await evaluate("[...document.querySelectorAll('main > h2')].map(h => h.textContent)");
  check(heads.length === 3 && /sweep/.test(heads[0]) && /matrix/.test(heads[1]), "a heading for each: " + heads.join(", "));
  check(await evaluate("document.querySelectorAll('main > .verdict').length") === 3, "each with its verdict");
  check((await rows(0)).length === 40 && (await rows(1)).length === 4, "and its tables");
  for (const [at, name] of ["raft", "raft-core", "kraft"].entries()) {
    await evaluate(`document.querySelectorAll('.grid tbody button')[${at}].click()`);
    const shown = await rows(1);
    check(shown.length === 1 && shown[0][1] === name, `a cell shows its row and no other: ${shown.map(r => r[1])}`);
  }
  await evaluate("document.querySelectorAll('.grid tbody button')[3].click()");
  check((await rows(1)).length === 1, "whatever the name has in it");
  check(!(await evaluate("window.injected === true")), "which stays text");
  const button = await evaluate("(() => { const r = document.querySelector('.grid tbody button').getBoundingClientRect(); return [r.width, r.height]; })()");
  check(button.every(side => side >= 24), "a cell is large enough to be hit: " + button);
  check(await evaluate("[...document.querySelectorAll('#table-1 tbody .command')].every(c => c.querySelector('button.copy') && c.querySelector('code').textContent)"), "a command can be copied");
  check(await evaluate("getComputedStyle(document.querySelector('.grid .sign-F')).color") === "rgb(154, 103, 0)", "what is safe by fencing only is amber");
  check(await evaluate("document.querySelector('.grid').closest('section').nextElementSibling.className") === "stories", "the grid comes before the stories");
  const plot = await evaluate("(() => { const a = document.querySelector('figure a'), i = a.querySelector('img'); return [a.getAttribute('href'), i.alt, document.querySelector('figcaption').textContent, getComputedStyle(i).filter]; })()");
  check(plot.slice(0, 3).join() === "plots/1-failover.svg,Failover,Failover" && plot[3] === "none", "a plot has a title and leads to its file: " + plot);
  await picture("sections");
  await media("prefers-color-scheme", "dark");
  check(/invert/.test(await evaluate("getComputedStyle(document.querySelector('figure img')).filter")), "it does not glare in the dark");
  await picture("sections-dark");
  await phone();
  await load();
  check(await evaluate("document.documentElement.scrollWidth <= 391"), "it fits a phone");
  await picture("sections-phone");
});

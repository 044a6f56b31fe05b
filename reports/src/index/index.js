// Tables that sort and filter, bars, stories, a grid, pictures. All text is inserted as text, never read as HTML.
const $ = id => document.getElementById(id);
const INDEX = JSON.parse($("index").textContent);
/// An element with this class, these attributes and children; strings become text.
function make(tag, { className = "", on = {}, ...attributes } = {}, ...children) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) element.setAttribute(name, value);
  for (const [name, act] of Object.entries(on)) element.addEventListener(name, act);
  element.append(...children.filter(child => child !== null && child !== undefined));
  return element;
}
const grouped = n => n.toLocaleString("en", { maximumFractionDigits: Math.abs(n) < 10 ? 3 : Math.abs(n) < 100 ? 1 : 0 });
const SIGNS = { X: "X", F: "F", "-": "minus", "+": "plus", "?": "unknown" };
const sign = value => make("span", { className: "sign sign-" + (SIGNS[value] ?? "unknown") }, value);
const say = words => $("live").textContent = words;
/// A page about several things has a section for each, whose parts are one level deeper.
const SECTIONS = INDEX.sections.length ? INDEX.sections : [INDEX];
const PART = INDEX.sections.length ? "h3" : "h2", BELOW = INDEX.sections.length ? "h4" : "h3";
/// A kept promise is no good news if runs were unsafe all the same.
const verdict = (element, { bad, unsafe, verdict }) => {
  element.textContent = (bad ? "✗ " : unsafe ? "! " : "✓ ") + verdict;
  element.className = "verdict " + (bad ? "bad" : unsafe ? "warned" : "good");
  return element;
};
const notes = (list, { notes }) => {
  list.append(...notes.map(note => make("li", {}, note)));
  return list;
};

function head() {
  $("title").textContent = INDEX.title;
  verdict($("verdict"), INDEX);
  notes($("notes"), INDEX);
  $("theme").onclick = () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
}
/// A command, and a button that copies it.
function command(text) {
  const code = make("code", {}, text);
  async function copy() {
    try {
      await navigator.clipboard.writeText(text);
    } catch {
      // A page opened as a file may lack clipboard access: fall back to selecting the text.
      const range = document.createRange(), selection = getSelection();
      range.selectNodeContents(code);
      selection.removeAllRanges();
      selection.addRange(range);
      if (!document.execCommand("copy")) return say("Selected: copy it with the keyboard");
    }
    button.textContent = "copied";
    say("Copied");
    setTimeout(() => button.textContent = "copy", 2000);
  }
  const button = make("button", { type: "button", className: "copy", "aria-label": "Copy the command", on: { click: copy } }, "copy");
  return make("div", { className: "command" }, code, button);
}
function stories(all, title, expected) {
  const MOST = expected ? 4 : 12;
  const story = (one, place) => make("article", { className: "story" + (expected ? " expected" : ""), ...(place >= MOST ? { hidden: "" } : {}) },
    make(BELOW, {}, one.title),
    one.cause ? make("p", { className: "cause" }, one.cause) : null,
    one.why ? make("p", { className: "why" }, one.why) : null,
    one.timeline ? make("p", {}, make("a", { href: one.timeline }, "Look at it: the timeline of that run")) : null,
    one.command ? command(one.command) : null);
  const shown = all.map(story), more = shown.length - MOST;
  const button = more > 0 ? make("button", { type: "button", on: { click: () => { shown.forEach(one => one.hidden = false); button.remove(); } } }, `Show ${more} more`) : null;
  return shown.length ? make("section", { className: "stories" }, make(PART, {}, title), ...shown, button) : null;
}
/// The grid of scenarios and protocols; clicking a cell shows its row in the table below.
function grid({ columns, rows, key }, show) {
  const exactly = (column, value) => `${column}="${value.replaceAll('"', "")}"`;
  const cell = (value, protocol, scenario) => value === null ? make("td", {}, make("span", { className: "apart" }, "does not apply")) :
    make("td", {}, make("button", { type: "button", title: `${scenario}, ${protocol}`, "aria-label": `${scenario} with ${protocol}: ${value}`, on: { click: () => show(`${exactly("scenario", scenario)} ${exactly("protocol", protocol)}`) } }, sign(value)));
  const body = rows.map(([protocol, cells]) => make("tr", {}, make("th", { scope: "row" }, protocol), ...cells.map((value, i) => cell(value, protocol, columns[i]))));
  return make("section", {}, make(PART, {}, "All at a glance"),
    make("div", { className: "grid-key" }, ...key.map(([value, means]) => make("span", {}, sign(value), " " + means))),
    make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": "Scenarios and protocols" },
      make("table", { className: "grid" }, make("thead", {}, make("tr", {}, make("td"), ...columns.map(name => make("th", { scope: "col" }, make("span", {}, name))))), make("tbody", {}, ...body))));
}
/// Parses what was typed into conditions on a row, and what of it makes no sense. `failover>3000` compares a column,
/// `-word` must be absent, and quoted text is matched literally.
function conditions(table, text) {
  const wrong = [], holds = [];
  for (const token of text.toLowerCase().match(/(?:[^\s"]|"[^"]*"?)+/g) ?? []) {
    const word = token.replaceAll('"', ""), compared = token.startsWith('"') ? null : word.match(/^([^<>=!]+)(>=|<=|!=|>|<|=)(.+)$/);
    if (!compared) {
      const not = token.startsWith("-") && word.length > 1, wanted = not ? word.slice(1) : word;
      holds.push(row => row.text.includes(wanted) !== not);
      continue;
    }
    const [, name, order, wanted] = compared, named = table.columns.map(c => c.label.toLowerCase().replaceAll(" ", "-"));
    const place = named.includes(name) ? named.indexOf(name) : named.findIndex(label => label.startsWith(name));
    if (place < 0) {
      wrong.push(`there is no column ${name}`);
      continue;
    }
    const number = table.columns[place].kind === "number", than = Number(wanted.replaceAll(",", ""));
    if (number && Number.isNaN(than) && !["=", "!="].includes(order)) wrong.push(`${table.columns[place].label} is a number, and ${wanted} is none`);
    else if (!number && !["=", "!="].includes(order)) wrong.push(`${table.columns[place].label} is no number, and can be compared with = and != only`);
    else holds.push(({ values }) => {
      const value = values[place], apart = typeof value === "number" ? value - than : String(value ?? "").toLowerCase().replaceAll('"', "") === wanted ? 0 : NaN;
      if (order === "!=") return apart !== 0;
      return value !== null && { ">": apart > 0, "<": apart < 0, ">=": apart >= 0, "<=": apart <= 0, "=": apart === 0 }[order];
    });
  }
  return { wrong, holds: row => holds.every(hold => hold(row)) };
}
/// A row's text for searching: numbers plain, and as shown, with and without commas.
const looked = value => typeof value === "number" ? `${value} ${grouped(value)} ${grouped(value).replaceAll(",", "")}` : String(value);
function value(column, of) {
  if (of === null) return make("td", { className: "of-" + column.kind }, column.kind === "number" ? "–" : "");
  const inside = { number: () => typeof of === "number" ? grouped(of) : String(of), code: () => command(of), sign: () => sign(of), link: () => make("a", { href: of }, "timeline"), line: () => lineOf(of) }[column.kind];
  const short = column.kind === "text" && String(of).length < 30 ? " short" : "";
  return make("td", { className: "of-" + column.kind + short }, inside ? inside() : String(of));
}
/// What distinguishes rows, in words: scenario and protocol, and as many more columns as needed.
function labels(table, rows) {
  const words = (row, i) => row[i] === null || row[i] === "" ? "" : table.columns[i].kind === "text" ? String(row[i]) : `${table.columns[i].label} ${looked(row[i]).split(" ")[0]}`;
  const texts = table.columns.map((c, i) => i).filter(i => table.columns[i].kind === "text");
  const more = table.columns.map((c, i) => i).filter(i => ["nodes", "seed", "experiment"].includes(table.columns[i].label) || texts.slice(2).includes(i));
  const called = rows.map(row => [texts.slice(0, 2).map(i => words(row, i)).filter(Boolean).join(" · ")]);
  for (const i of more) {
    const alike = new Map();
    called.forEach((name, at) => alike.set(name.join(" · "), [...(alike.get(name.join(" · ")) ?? []), at]));
    for (const places of alike.values()) {
      if (new Set(places.map(at => words(rows[at], i))).size > 1) places.forEach(at => words(rows[at], i) && called[at].push(words(rows[at], i)));
    }
  }
  return called.map(name => name.join(" · "));
}
/// Cuts text in the middle: labels differ at their ends.
const shortened = (text, room) => text.length <= room ? text : text.slice(0, room - 1 - (room >> 1)) + "…" + text.slice(text.length - (room >> 1));
const NS = "http://www.w3.org/2000/svg";
function put(tag, attributes, text) {
  const element = document.createElementNS(NS, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  if (text !== undefined) element.textContent = text;
  return element;
}
/// Bars of a column for the rows shown, in `width` pixels; from the median to a high percentile if the table has both.
/// If space is short, each bar is below its name.
function barsOf(table, kept, place, width) {
  const MOST = 60, column = table.columns[place], all = kept.filter(row => typeof row[place] === "number"), rows = all.slice(0, MOST);
  const narrow = width < 640, left = narrow ? 2 : 330, each = narrow ? 36 : 18, top = narrow ? 44 : 22, room = narrow ? Math.floor(width / 7.2) : 50;
  const far = row => column.to !== null && typeof row[column.to] === "number" ? row[column.to] : row[place];
  const most = Math.max(1e-9, ...rows.map(far)), height = rows.length * each + top + 6, X = n => left + Math.max(0, n) / most * (width - left - 120);
  const svg = put("svg", { class: "bars", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Bars of ${column.label} for ${rows.length} rows; the table has the numbers` });
  const what = column.label + (column.unit ? ", " + column.unit : ""), to = column.to !== null ? `and on to ${table.columns[column.to].label}` : "";
  const which = all.length > rows.length ? `the first ${rows.length} rows that have it` : kept.length > rows.length ? `the ${rows.length} rows that have it` : "";
  const said = [what, [to, which].filter(Boolean).join("; ")];
  svg.append(...narrow ? said.map((line, i) => put("text", { x: left, y: 14 + i * 17, class: "dim" }, line)) : [put("text", { x: left, y: 14, class: "dim" }, said.filter(Boolean).join(", "))]);
  labels(table, rows).forEach((label, i) => {
    const row = rows[i], y = top + i * each, short = shortened(label, room), bar = narrow ? y + 17 : y + 3;
    const value = grouped(row[place]) + (far(row) !== row[place] ? " – " + grouped(far(row)) : "");
    svg.append(put("text", narrow ? { x: left, y: y + 13 } : { x: left - 8, y: y + 13, "text-anchor": "end" }, short),
      put("rect", { x: left, y: bar, width: Math.max(1, X(far(row)) - left), height: 11, class: "range" }),
      put("rect", { x: left, y: bar, width: Math.max(1, X(row[place]) - left), height: 11, class: "value" }),
      put("text", { x: X(far(row)) + 5, y: bar + 10, class: "dim" }, value));
  });
  return svg;
}
/// A list of numbers as a line, with a dot at the last one; a gap where there is no number.
function lineOf(values) {
  const width = 180, height = 30, numbers = values.filter(value => typeof value === "number"), least = Math.min(...numbers), most = Math.max(...numbers);
  const X = i => 4 + i / Math.max(1, values.length - 1) * (width - 8), Y = n => most > least ? 4 + (most - n) / (most - least) * (height - 8) : height / 2;
  const points = values.map((value, i) => typeof value === "number" ? [X(i), Y(value)] : null);
  const path = points.map((point, i) => point ? (points[i - 1] ? "L" : "M") + point.map(n => n.toFixed(1)).join(" ") : "").join("");
  const said = numbers.length ? `${numbers.length} nights, from ${grouped(least)} to ${grouped(most)}` : "no numbers";
  const svg = put("svg", { class: "trend", width, height, viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": said }), last = points.at(-1);
  svg.append(put("title", {}, said), put("path", { d: path }), ...last ? [put("circle", { cx: last[0], cy: last[1], r: 3 })] : []);
  return svg;
}
const SHOWN = 400;
let numbered = 0;
function tableOf(table) {
  let by = -1, down = false, filter = "", kept = table.rows;
  const number = numbered++, searched = table.rows.map(values => ({ values, text: values.filter(value => value !== null).map(looked).join(" ").toLowerCase() }));
  const count = make("span", { role: "status" }), body = make("tbody"), bars = make("div");
  const search = make("input", { type: "search", placeholder: 'Words, -not, "as is", runs>9', "aria-label": `Filter ${table.title}`, on: { input: () => { filter = search.value; fill(); } } });
  const numbers = table.columns.map((c, i) => [c, i]).filter(([c]) => c.kind === "number");
  const choice = make("select", { "aria-label": "Bars of", on: { change: draw } }, make("option", { value: "" }, "no bars"), ...numbers.map(([c, i]) => make("option", { value: i }, "bars: " + c.label)));
  const heads = table.columns.map((column, i) => {
    const button = make("button", { type: "button", on: { click: () => { down = by === i ? !down : column.kind === "number"; by = i; fill(); say(`Sorted by ${column.label}, ${down ? "largest first" : "smallest first"}`); } } }, column.label);
    return make("th", { scope: "col", className: "of-" + column.kind, "aria-sort": "none" }, button, column.unit ? make("span", { className: "unit" }, " " + column.unit) : null);
  });
  const compare = (a, b) => {
    const [x, y] = [a[by], b[by]];
    // Missing values come last in either direction.
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
    return down ? -order : order;
  };
  const broken = table.columns.findIndex(c => c.label === "broken");
  function fill() {
    const { wrong, holds } = conditions(table, filter);
    kept = searched.filter(holds).map(row => row.values);
    if (by >= 0) kept = [...kept].sort(compare);
    heads.forEach((h, i) => {
      h.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none");
      h.firstChild.textContent = table.columns[i].label + (i === by ? (down ? " ▼" : " ▲") : "");
    });
    search.setAttribute("aria-invalid", wrong.length > 0);
    count.className = wrong.length ? "bad" : "";
    count.textContent = [...wrong.map(what => what[0].toUpperCase() + what.slice(1)), `${grouped(kept.length)} of ${grouped(table.rows.length)} rows` + (kept.length > SHOWN ? `, the first ${SHOWN} shown` : "")].join("; ");
    body.replaceChildren(...kept.slice(0, SHOWN).map(row => make("tr", { className: broken >= 0 && row[broken] > 0 ? "bad" : "" }, ...row.map((of, i) => value(table.columns[i], of)))));
    draw();
  }
  function draw() {
    bars.replaceChildren();
    if (choice.value !== "") bars.append(barsOf(table, kept, +choice.value, Math.max(280, Math.min(1000, bars.clientWidth))));
  }
  addEventListener("resize", draw);
  fill();
  const section = make("section", { id: "table-" + number }, make(PART, {}, table.title),
    make("div", { className: "bar" }, search, numbers.length ? choice : null, count), bars,
    make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": table.title }, make("table", {}, make("caption", { className: "apart" }, table.title), make("thead", {}, make("tr", {}, ...heads)), body)));
  return { section, show: text => { search.value = filter = text; fill(); section.scrollIntoView(); search.focus(); } };
}
/// A plot links to its file, to be seen in full size.
function pictures(all) {
  const figure = ({ title, about, file, data }) => {
    const image = make("img", { src: data, alt: [title, about].filter(Boolean).join(". "), loading: "lazy" });
    return make("figure", {}, file ? make("a", { href: file, title: "Open the plot alone" }, image) : image, make("figcaption", {}, title));
  };
  return all.length ? make("section", {}, make(PART, {}, "Plots"), make("div", { className: "pictures" }, ...all.map(figure))) : null;
}
/// All parts of a section; with its head, if there are several sections.
function parts(index) {
  const tables = index.tables.map(tableOf);
  const own = INDEX.sections.length ? [make("h2", {}, index.title), verdict(make("p"), index), notes(make("ul", { className: "notes" }), index)] : [];
  const all = [...own, index.grid ? grid(index.grid, text => tables[0].show(text)) : null, stories(index.stories, "Failures and inconclusive runs", false),
    ...tables.map(t => t.section), stories(index.expected, "Unsafe, but no promise was broken", true), pictures(index.pictures)];
  return all.filter(part => part !== null);
}
head();
for (const index of SECTIONS) $("main").append(...parts(index));
document.documentElement.dataset.ready = "yes";

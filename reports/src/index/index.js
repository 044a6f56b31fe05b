// Tables that sort and filter, bars of what they show, stories, a grid, pictures. All text is text: it is never read as HTML.
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

function head() {
  $("title").textContent = INDEX.title;
  $("verdict").textContent = (INDEX.bad ? "✗ " : "✓ ") + INDEX.verdict;
  $("verdict").className = INDEX.bad ? "bad" : "good";
  $("notes").append(...INDEX.notes.map(note => make("li", {}, note)));
  $("theme").onclick = () => {
    const root = document.documentElement, dark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  };
}
function stories() {
  const MOST = 12;
  const story = (one, place) => make("article", { className: "story", ...(place >= MOST ? { hidden: "" } : {}) },
    make("h3", {}, one.title),
    one.cause ? make("p", { className: "cause" }, one.cause) : null,
    one.why ? make("p", { className: "why" }, one.why) : null,
    one.timeline ? make("p", {}, make("a", { href: one.timeline }, "Look at it: the timeline of that run")) : null,
    one.command ? make("p", {}, make("code", {}, one.command)) : null);
  const all = INDEX.stories.map(story), more = all.length - MOST;
  const button = more > 0 ? make("button", { type: "button", on: { click: () => { all.forEach(one => one.hidden = false); button.remove(); } } }, `Show ${more} more`) : null;
  return all.length ? make("section", { id: "stories" }, make("h2", {}, "What went wrong, or showed nothing"), ...all, button) : null;
}
/// Scenarios and protocols; a cell shows its row in the table below.
function grid(show) {
  const { columns, rows, key } = INDEX.grid;
  const cell = (value, protocol, scenario) => value === null ? make("td", {}, make("span", { className: "apart" }, "does not apply")) :
    make("td", {}, make("button", { type: "button", title: `${scenario}, ${protocol}`, "aria-label": `${scenario} with ${protocol}: ${value}`, on: { click: () => show(`${scenario} ${protocol}`) } }, sign(value)));
  const body = rows.map(([protocol, cells]) => make("tr", {}, make("th", { scope: "row" }, protocol), ...cells.map((value, i) => cell(value, protocol, columns[i]))));
  return make("section", {}, make("h2", {}, "All at a glance"),
    make("div", { className: "grid-key" }, ...key.map(([value, means]) => make("span", {}, sign(value), " " + means))),
    make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": "Scenarios and protocols" },
      make("table", { className: "grid" }, make("thead", {}, make("tr", {}, make("td"), ...columns.map(name => make("th", { scope: "col" }, make("span", {}, name))))), make("tbody", {}, ...body))));
}
/// Does a row hold every word? `failover>3000` compares a column; `-word` must not be there.
function holds(table, row, words) {
  const all = row.filter(value => value !== null).join(" ").toLowerCase();
  return words.every(word => {
    const compared = word.match(/^(.+?)(>=|<=|>|<|=)(.+)$/), place = compared ? table.columns.findIndex(c => c.label.toLowerCase().replaceAll(" ", "-").startsWith(compared[1])) : -1;
    if (place >= 0) {
      const value = row[place], wanted = compared[3];
      if (value === null) return false;
      const order = typeof value === "number" ? value - Number(wanted) : String(value).toLowerCase() === wanted ? 0 : NaN;
      return { ">": order > 0, "<": order < 0, ">=": order >= 0, "<=": order <= 0, "=": order === 0 }[compared[2]];
    }
    return word.startsWith("-") && word.length > 1 ? !all.includes(word.slice(1)) : all.includes(word);
  });
}
const wordsOf = text => (text.toLowerCase().match(/"[^"]*"|\S+/g) ?? []).map(word => word.replaceAll('"', ""));
function value(column, of) {
  if (of === null) return make("td", { className: "of-" + column.kind }, column.kind === "number" ? "–" : "");
  const inside = { number: () => typeof of === "number" ? grouped(of) : String(of), code: () => make("code", {}, of), sign: () => sign(of), link: () => make("a", { href: of }, "timeline") }[column.kind];
  const short = column.kind === "text" && String(of).length < 30 ? " short" : "";
  return make("td", { className: "of-" + column.kind + short }, inside ? inside() : String(of));
}
const SHOWN = 400;
function tableOf(table, number) {
  let by = -1, down = false, filter = "", kept = table.rows;
  const count = make("span", { role: "status" }), body = make("tbody"), bars = make("div");
  const search = make("input", { type: "search", placeholder: "Filter: words, -not, runs>9", "aria-label": `Filter ${table.title}`, on: { input: () => { filter = search.value; fill(); } } });
  const numbers = table.columns.map((c, i) => [c, i]).filter(([c]) => c.kind === "number");
  const choice = make("select", { "aria-label": "Bars of", on: { change: draw } }, make("option", { value: "" }, "no bars"), ...numbers.map(([c, i]) => make("option", { value: i }, "bars: " + c.label)));
  const heads = table.columns.map((column, i) => {
    const button = make("button", { type: "button", on: { click: () => { down = by === i ? !down : column.kind === "number"; by = i; fill(); say(`Sorted by ${column.label}, ${down ? "largest first" : "smallest first"}`); } } }, column.label);
    return make("th", { scope: "col", className: "of-" + column.kind, "aria-sort": "none" }, button, column.unit ? make("span", { className: "unit" }, " " + column.unit) : null);
  });
  const compare = (a, b) => {
    const [x, y] = [a[by], b[by]];
    // What is not there comes last, whichever way.
    if (x === null || y === null) return (x === null) - (y === null);
    const order = typeof x === "number" && typeof y === "number" ? x - y : String(x).localeCompare(String(y), "en", { numeric: true });
    return down ? -order : order;
  };
  const broken = table.columns.findIndex(c => c.label === "broken");
  function fill() {
    kept = table.rows.filter(row => holds(table, row, wordsOf(filter)));
    if (by >= 0) kept = [...kept].sort(compare);
    heads.forEach((h, i) => {
      h.setAttribute("aria-sort", i === by ? (down ? "descending" : "ascending") : "none");
      h.firstChild.textContent = table.columns[i].label + (i === by ? (down ? " ▼" : " ▲") : "");
    });
    count.textContent = `${grouped(kept.length)} of ${grouped(table.rows.length)} rows` + (kept.length > SHOWN ? `, the first ${SHOWN} shown` : "");
    body.replaceChildren(...kept.slice(0, SHOWN).map(row => make("tr", { className: broken >= 0 && row[broken] > 0 ? "bad" : "" }, ...row.map((of, i) => value(table.columns[i], of)))));
    draw();
  }
  /// Bars of a column, for the rows that are shown; from the median to a high percentile where there are both.
  function draw() {
    bars.replaceChildren();
    if (choice.value === "") return;
    const place = +choice.value, column = table.columns[place], MOST = 60;
    const rows = kept.filter(row => typeof row[place] === "number").slice(0, MOST);
    const name = row => row.filter((of, i) => table.columns[i].kind === "text" && of && i < 4).slice(0, 2).join(" · ");
    const far = row => column.to !== null && typeof row[column.to] === "number" ? row[column.to] : row[place];
    const most = Math.max(1e-9, ...rows.map(far)), height = rows.length * 18 + 26, left = 330, width = 1000, X = n => left + Math.max(0, n) / most * (width - left - 110);
    const NS = "http://www.w3.org/2000/svg";
    const put = (tag, attributes, text) => { const e = document.createElementNS(NS, tag); for (const [k, v] of Object.entries(attributes)) e.setAttribute(k, v); if (text !== undefined) e.textContent = text; return e; };
    const svg = put("svg", { class: "bars", viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": `Bars of ${column.label} for ${rows.length} rows; the table has the numbers` });
    svg.append(put("text", { x: left, y: 14, class: "dim" }, column.label + (column.unit ? ", " + column.unit : "") + (column.to !== null ? ", and on to " + table.columns[column.to].label : "") + (kept.length > rows.length ? `; ${rows.length < MOST ? "the" : "the first"} ${rows.length} rows that have it` : "")));
    rows.forEach((row, i) => {
      const y = 22 + i * 18, label = name(row), short = label.length > 52 ? label.slice(0, 51) + "…" : label;
      svg.append(put("text", { x: left - 8, y: y + 13, "text-anchor": "end" }, short), put("rect", { x: left, y: y + 3, width: Math.max(1, X(far(row)) - left), height: 11, class: "range" }),
        put("rect", { x: left, y: y + 3, width: Math.max(1, X(row[place]) - left), height: 11, class: "value" }), put("text", { x: X(far(row)) + 5, y: y + 13, class: "dim" }, grouped(row[place]) + (far(row) !== row[place] ? " – " + grouped(far(row)) : "")));
    });
    bars.append(svg);
  }
  fill();
  const section = make("section", { id: "table-" + number }, make("h2", {}, table.title),
    make("div", { className: "bar" }, search, numbers.length ? choice : null, count), bars,
    make("div", { className: "scroll", tabindex: "0", role: "region", "aria-label": table.title }, make("table", {}, make("caption", { className: "apart" }, table.title), make("thead", {}, make("tr", {}, ...heads)), body)));
  return { section, show: text => { search.value = filter = text; fill(); section.scrollIntoView(); search.focus(); } };
}
function pictures() {
  const figure = ({ title, data }) => make("figure", {}, make("img", { src: data, alt: title, loading: "lazy" }), make("figcaption", {}, title));
  return INDEX.pictures.length ? make("section", {}, make("h2", {}, "Plots"), make("div", { className: "pictures" }, ...INDEX.pictures.map(figure))) : null;
}
head();
const tables = INDEX.tables.map(tableOf);
const parts = [stories(), INDEX.grid ? grid(text => tables[0].show(text)) : null, ...tables.map(t => t.section), pictures()];
$("main").append(...parts.filter(part => part !== null));
document.documentElement.dataset.ready = "yes";

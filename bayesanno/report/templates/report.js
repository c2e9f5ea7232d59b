"use strict";
// A table is columns in memory, and one page of its rows in the document. Whatever comes from data is put there as text.

const PER_PAGE = 25;

function text(tag, content, parent, className) {
  const made = document.createElement(tag);
  made.textContent = content;
  if (className) made.className = className;
  if (parent) parent.append(made);
  return made;
}

function grid(host) {
  const { what, columns, sort } = JSON.parse(host.querySelector("script").textContent);
  const size = columns.length ? columns[0].values.length : 0;
  const valueOf = (column, row) => (column.names ? column.names[column.values[row]] : column.values[row]);
  for (const column of columns) { // text that would be broken into many lines gets room
    const sample = (column.names ?? column.values).slice(0, 1000);
    column.look = column.kind === "text" && sample.some((value) => value.length > 16) ? "text long" : column.kind;
  }
  const texts = columns.filter((column) => column.kind === "text");
  const state = { by: columns.findIndex((column) => column.name === sort.by), down: sort.down, page: 0, sought: "", chosen: new Map() };
  let shown = [];

  // --- which rows, and in which order
  function keeps(row) {
    for (const [column, code] of state.chosen) if (column.values[row] !== code) return false;
    return !state.sought || texts.some((column) => String(valueOf(column, row)).toLowerCase().includes(state.sought));
  }
  function compare(one, other) {
    const column = columns[state.by];
    const [a, b] = [valueOf(column, one), valueOf(column, other)];
    if (a === null || b === null) return (a === null) - (b === null) || one - other; // what is missing comes last
    const order = column.kind === "text" ? (a < b ? -1 : a > b ? 1 : 0) : a - b;
    return (state.down ? -order : order) || one - other;
  }
  function select() {
    shown = [];
    for (let row = 0; row < size; row++) if (keeps(row)) shown.push(row);
    if (state.by >= 0) shown.sort(compare);
    state.page = 0;
    draw();
  }

  // --- the page that is seen
  function show(column, row) {
    const value = valueOf(column, row);
    if (value === null) return "";
    return column.kind === "number" && column.digits ? value.toFixed(column.digits) : String(value);
  }
  function draw() {
    const last = Math.max(0, Math.ceil(shown.length / PER_PAGE) - 1);
    const from = state.page * PER_PAGE;
    const rows = shown.slice(from, from + PER_PAGE);
    body.replaceChildren(
      ...rows.map((row) => {
        const line = document.createElement("tr");
        for (const column of columns) text("td", show(column, row), line, column.look);
        return line;
      }),
    );
    columns.forEach((column, place) => {
      const now = place !== state.by ? "none" : state.down ? "descending" : "ascending";
      heads[place].setAttribute("aria-sort", now);
    });
    const of = shown.length === size ? "" : ` (of ${size.toLocaleString("en")})`;
    const range = rows.length ? `${(from + 1).toLocaleString("en")}–${(from + rows.length).toLocaleString("en")} of ` : "";
    where.textContent = `${range}${shown.length.toLocaleString("en")} ${what}${of}`;
    before.disabled = state.page === 0;
    after.disabled = state.page === last;
  }

  // --- what can be touched
  const controls = text("div", "", host, "controls");
  const search = document.createElement("input");
  search.type = "search";
  search.placeholder = `search ${what}`;
  search.setAttribute("aria-label", `search ${what}`);
  search.addEventListener("input", () => { state.sought = search.value.trim().toLowerCase(); select(); });
  controls.append(search);
  for (const column of columns.filter((column) => column.filter)) {
    const label = text("label", `${column.name} `, controls);
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", column.name);
    text("option", "all", choice).value = "";
    column.names.forEach((name, code) => { text("option", name === "" ? "(none)" : name, choice).value = code; });
    choice.addEventListener("change", () => {
      if (choice.value === "") state.chosen.delete(column);
      else state.chosen.set(column, Number(choice.value));
      select();
    });
    label.append(choice);
  }
  const table = text("table", "", text("div", "", host, "wide"));
  const head = text("tr", "", text("thead", "", table));
  const heads = columns.map((column, place) => {
    const cell = text("th", "", head, column.kind);
    cell.scope = "col";
    text("button", column.name, cell).addEventListener("click", () => {
      state.down = state.by === place ? !state.down : column.kind === "number";
      state.by = place;
      select();
    });
    return cell;
  });
  const body = text("tbody", "", table);
  const pages = text("div", "", host, "pages");
  const before = text("button", "previous", pages);
  const where = text("span", "", pages);
  where.setAttribute("aria-live", "polite");
  const after = text("button", "next", pages);
  before.addEventListener("click", () => { state.page--; draw(); });
  after.addEventListener("click", () => { state.page++; draw(); });
  select();
}

for (const host of document.querySelectorAll(".grid")) grid(host);

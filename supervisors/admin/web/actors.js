// The actors: as a tree, or as a flat table. One grid serves both; rows of the page are kept from one drawing to the next.
import {count, element, marked, nameOf, rate, toneOfRow} from "/format.js";
import {store} from "/store.js";

const kMostChildren = 200;   // of one actor, before the rest is only counted
const kMostFlat = 1000;
const kOpenAtFirst = 12;     // longer branches (connections) begin closed

const kColumns = [
  {field: "path", title: "Actor", fill: actorCell},
  {field: "phase", title: "Phase", fill: phaseCell},
  {field: "mailboxLength", title: "Mailbox", number: true, fill: numberCell((row) => row.mailboxLength, count, (n) => n >= 100)},
  {field: "handledPerSecond", title: "Msg/s", number: true, class: "narrow", fill: numberCell((row) => row.handledPerSecond, rate)},
  {field: "busyShare", title: "Busy", number: true, class: "wide", fill: busyCell},
  {field: "restarts", title: "Restarts", number: true, class: "narrow", fill: restartCell},
  {field: "incarnation", title: "Life", number: true, class: "wide", fill: numberCell((row) => row.incarnation, count)},
];

export const view = {
  mode: "tree",
  sort: {field: "path", descending: false},
  search: "",
  selected: "",
  open: new Map(),             // path -> whether the branch is open, where somebody has decided
};

const drawn = new Map();       // path -> <tr>
let shown = [];                // what is on the page, in order
let focused = "";
let select = () => {};
let enter = () => {};

function actorCell(cell, row, item) {
  const flat = view.mode === "table";
  const key = `${flat}|${row.type}|${view.search}`;
  if (cell.dataset.key !== key) {
    cell.dataset.key = key;
    const twist = element("span", {class: "twist", "aria-hidden": "true"});
    const name = element("span", {class: "name"}, ...marked(flat ? row.path : nameOf(row.path), view.search));
    const kind = element("span", {class: "kind"}, ...marked(row.type, view.search));
    cell.replaceChildren(element("div", {class: `actor${flat ? " flat" : ""}`}, flat ? null : twist, name, kind));
  }
  cell.firstChild.style.setProperty("--depth", flat ? 0 : item.depth);
  cell.firstChild.querySelector(".twist")?.classList.toggle("leaf", item.children === 0);
}

function phaseCell(cell, row) {
  if (cell.dataset.key === row.phase + row.phaseMeaning + view.search) return;
  cell.dataset.key = row.phase + row.phaseMeaning + view.search;
  cell.replaceChildren(element("span", {class: "phase", "data-tone": toneOfRow(row), title: row.phaseMeaning}, ...marked(row.phase, view.search)));
}

function numberCell(get, show, isAlert = () => false) {
  return (cell, row) => {
    const value = get(row);
    const text = show(value);
    if (cell.textContent !== text) cell.textContent = text;
    cell.classList.toggle("zero", value === 0);
    cell.classList.toggle("alert", isAlert(value));
  };
}

function busyCell(cell, row) {
  if (!cell.firstChild) cell.append(element("span", {class: "busy"}, element("i"), element("span")));
  const [bar, text] = cell.firstChild.children;
  bar.style.setProperty("--share", row.busyShare);
  text.textContent = `${Math.round(row.busyShare * 100)}%`;
  cell.classList.toggle("zero", row.busyShare === 0);
}

function restartCell(cell, row) {
  const text = row.restartLimit > 0 ? `${row.restarts} of ${row.restartLimit}` : "–";
  if (cell.textContent !== text) cell.textContent = text;
  cell.classList.toggle("zero", row.restarts === 0);
  cell.classList.toggle("alert", row.restarts > 0);
}

function compare(a, b) {
  const {field, descending} = view.sort;
  const x = a[field], y = b[field];
  const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true});
  if (order !== 0) return descending ? -order : order;
  return a.path.localeCompare(b.path, "en", {numeric: true});
}

function matches(row) {
  return [row.path, row.type, row.phase, row.lastError].some((text) => text.toLowerCase().includes(view.search));
}

/** Children by the nearest ancestor that has a row. */
function nest(rows) {
  const below = new Map();
  for (const row of rows) {
    let above = row.path.slice(0, row.path.lastIndexOf("/"));
    while (above && !store.byPath.has(above)) above = above.slice(0, above.lastIndexOf("/"));
    if (!below.has(above)) below.set(above, []);
    below.get(above).push(row);
  }
  return below;
}

function isOpen(path, children) {
  if (view.search) return true;
  return view.open.get(path) ?? children.length <= kOpenAtFirst;
}

function treeItems() {
  let rows = store.rows;
  if (view.search) {
    const wanted = new Set();
    for (const row of rows.filter(matches))
      for (let path = row.path; path; path = path.slice(0, path.lastIndexOf("/"))) wanted.add(path);
    rows = rows.filter((row) => wanted.has(row.path));
  }
  const below = nest(rows);
  const items = [];
  const visit = (above, depth) => {
    const siblings = [...(below.get(above) ?? [])].sort(compare);
    siblings.slice(0, kMostChildren).forEach((row, index) => {
      const children = below.get(row.path) ?? [];
      const open = children.length > 0 && isOpen(row.path, children);
      items.push({path: row.path, row, depth, children: children.length, open, position: index + 1, siblings: siblings.length});
      if (open) visit(row.path, depth + 1);
    });
    if (siblings.length > kMostChildren) items.push({more: siblings.length - kMostChildren, path: `${above}//more`, depth});
  };
  visit("", 0);
  return items;
}

function flatItems() {
  const rows = (view.search ? store.rows.filter(matches) : [...store.rows]).sort(compare);
  const items = rows.slice(0, kMostFlat).map((row) => ({path: row.path, row, depth: 0, children: 0, open: false}));
  if (rows.length > kMostFlat) items.push({more: rows.length - kMostFlat, path: "//more", depth: 0});
  return items;
}

function rowFor(item) {
  let tr = drawn.get(item.path);
  if (!tr) {
    tr = element("tr", {"data-path": item.path, tabindex: "-1", role: "row"});
    for (const column of kColumns)
      tr.append(element("td", {role: "gridcell", class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null}));
    drawn.set(item.path, tr);
  }
  return tr;
}

function moreRow(item) {
  const text = `… and ${count(item.more)} more: search to narrow`;
  return element("tr", {class: "more", role: "row"}, element("td", {colspan: kColumns.length, role: "gridcell"}, text));
}

function setOrRemove(node, name, value) {
  if (value === null) node.removeAttribute(name);
  else if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
}

function fill(tr, item) {
  const tree = view.mode === "tree";
  setOrRemove(tr, "aria-level", tree ? item.depth + 1 : null);
  setOrRemove(tr, "aria-posinset", tree ? item.position : null);
  setOrRemove(tr, "aria-setsize", tree ? item.siblings : null);
  setOrRemove(tr, "aria-expanded", tree && item.children > 0 ? item.open : null);
  setOrRemove(tr, "aria-selected", item.path === view.selected);
  kColumns.forEach((column, index) => column.fill(tr.children[index], item.row, item));
}

export function draw() {
  shown = view.mode === "tree" ? treeItems() : flatItems();
  const body = document.getElementById("rows");
  const present = new Set(shown.map((item) => item.path));
  for (const [path, tr] of drawn) {
    if (present.has(path)) continue;
    tr.remove();
    drawn.delete(path);
  }
  body.querySelectorAll(".more").forEach((tr) => tr.remove());
  let at = body.firstChild;
  for (const item of shown) {
    const tr = item.more ? moreRow(item) : rowFor(item);
    if (!item.more) fill(tr, item);
    if (tr === at) at = at.nextSibling;
    else body.insertBefore(tr, at);
  }
  if (!present.has(focused)) focused = present.has(view.selected) ? view.selected : shown[0]?.path ?? "";
  for (const [path, tr] of drawn) setOrRemove(tr, "tabindex", path === focused ? 0 : -1);
  const empty = document.getElementById("empty");
  empty.hidden = shown.length > 0;
  empty.textContent = view.search ? `No actor matches “${view.search}”.` : "No actors.";
  const found = shown.filter((item) => item.row && (!view.search || matches(item.row))).length;
  const hidden = store.total > store.rows.length ? `; the first ${count(store.rows.length)} are here` : "";
  const text = view.search ? `${count(found)} of ${count(store.total)} actors match` : `${count(store.total)} actors${hidden}`;
  const footer = document.getElementById("count");
  if (footer.textContent !== text) footer.textContent = text;
}

export function flash(path) {
  const tr = drawn.get(path);
  if (!tr) return;
  tr.classList.remove("flash");
  void tr.offsetWidth;  // lets the animation begin again
  tr.classList.add("flash");
}

function drawHeads() {
  const heads = kColumns.map((column) => {
    const sorted = view.sort.field === column.field;
    return element("th", {scope: "col", role: "columnheader", class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null,
                          "aria-sort": sorted ? (view.sort.descending ? "descending" : "ascending") : null},
                   element("button", {type: "button", onclick: () => sortBy(column)}, column.title));
  });
  document.getElementById("heads").replaceChildren(...heads);
}

function sortBy(column) {
  const again = view.sort.field === column.field;
  view.sort = {field: column.field, descending: again ? !view.sort.descending : Boolean(column.number)};
  drawHeads();
  document.querySelectorAll("#heads button")[kColumns.indexOf(column)].focus();
  draw();
}

export function setMode(mode) {
  view.mode = mode;
  const table = document.getElementById("actors");
  table.setAttribute("role", mode === "tree" ? "treegrid" : "grid");
  draw();
}

/** Opens the branches above an actor, so that it can be seen. */
export function reveal(path) {
  for (let above = path.slice(0, path.lastIndexOf("/")); above; above = above.slice(0, above.lastIndexOf("/"))) view.open.set(above, true);
  draw();
  drawn.get(path)?.scrollIntoView({block: "nearest"});
}

export function focusRow(path = focused) {
  const tr = drawn.get(path);
  if (!tr) return;
  focused = path;
  for (const [other, row] of drawn) setOrRemove(row, "tabindex", other === path ? 0 : -1);
  tr.focus();
  tr.scrollIntoView({block: "nearest"});
}

function toggle(path, open) {
  view.open.set(path, open);
  draw();
}

function move(to) {
  const item = shown[to];
  if (!item || item.more) return;
  select(item.path);
  focusRow(item.path);
}

function keyPressed(event) {
  const tr = event.target.closest("tr[data-path]");
  if (!tr || event.ctrlKey || event.metaKey || event.altKey) return;
  const index = shown.findIndex((item) => item.path === tr.dataset.path);
  const item = shown[index];
  if (!item) return;
  const tree = view.mode === "tree";
  const keys = {
    ArrowDown: () => move(index + 1),
    ArrowUp: () => move(index - 1),
    Home: () => move(0),
    End: () => move(shown.findLastIndex((one) => !one.more)),
    ArrowRight: () => tree && item.children > 0 && (item.open ? move(index + 1) : toggle(item.path, true)),
    ArrowLeft: () => {
      if (!tree) return;
      if (item.open && !view.search) toggle(item.path, false);
      else move(shown.findLastIndex((one, i) => i < index && one.depth < item.depth));
    },
    Enter: () => { select(item.path); enter(); },
    " ": () => select(item.path),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

export function begin(handlers) {
  ({select, enter} = handlers);
  drawHeads();
  const body = document.getElementById("rows");
  body.addEventListener("click", (event) => {
    const tr = event.target.closest("tr[data-path]");
    if (!tr) return;
    const path = tr.dataset.path;
    if (event.target.closest(".twist")) return toggle(path, tr.getAttribute("aria-expanded") !== "true");
    select(path);
    focusRow(path);
  });
  body.addEventListener("dblclick", (event) => {
    const tr = event.target.closest("tr[aria-expanded]");
    if (tr && !event.target.closest(".twist")) toggle(tr.dataset.path, tr.getAttribute("aria-expanded") !== "true");
  });
  body.addEventListener("keydown", keyPressed);
}

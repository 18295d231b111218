// The actors: as a tree, as a flat table, or as one tree of all members of the set. One grid serves all; rows of the page
// are kept from one drawing to the next. An actor goes by its key (members.js).
import {count, element, marked, nameOf, rate, toneOfRow} from "/format.js";
import {members} from "/members.js";
import {store} from "/store.js";

const kMostChildren = 200;   // of one actor, before the rest is only counted
const kMostFlat = 1000;
const kOpenAtFirst = 12;     // longer branches (connections) begin closed
const kLevelsAtFirst = 2;    // of the tree of all members

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
  open: new Map(),             // key -> whether the branch is open, where somebody has decided
};

const drawn = new Map();       // key -> <tr>
let shown = [];                // what is on the page, in order
let focused = "";
let select = () => {};
let enter = () => {};

const ofNode = {
  rows: () => store.rows, has: (key) => store.byPath.has(key), keyOf: (row) => row.path,
  here: () => store.rows.length, total: () => store.total, what: () => `${count(store.total)} actors`,
};
const ofMembers = {
  rows: () => members.rows, has: (key) => members.byKey.has(key), keyOf: (row) => row.key,
  here: () => members.here, total: () => members.total,
  what: () => `${count(members.total)} actors of ${count(members.set?.members.length ?? 0)} members`,
};
/** Whose actors are shown. */
const source = () => (view.mode === "set" ? ofMembers : ofNode);
const isTree = () => view.mode !== "table";
const keyAbove = (key) => key.slice(0, Math.max(0, key.lastIndexOf("/")));

function actorCell(cell, row, item) {
  const flat = !isTree();
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
  const key = [row.phase, row.phaseMeaning, toneOfRow(row), view.search].join("|");
  if (cell.dataset.key === key) return;
  cell.dataset.key = key;
  cell.replaceChildren(element("span", {class: "phase", "data-tone": toneOfRow(row), title: row.phaseMeaning}, ...marked(row.phase, view.search)));
}

function numberCell(get, show, isAlert = () => false) {
  return (cell, row) => {
    const value = get(row);
    const text = row.member ? "" : show(value);
    if (cell.textContent !== text) cell.textContent = text;
    cell.classList.toggle("zero", value === 0);
    cell.classList.toggle("alert", isAlert(value));
  };
}

function busyCell(cell, row) {
  if (row.member) return cell.replaceChildren();
  if (!cell.firstChild) cell.append(element("span", {class: "busy"}, element("i"), element("span")));
  const [bar, text] = cell.firstChild.children;
  bar.style.setProperty("--share", row.busyShare);
  text.textContent = `${Math.round(row.busyShare * 100)}%`;
  cell.classList.toggle("zero", row.busyShare === 0);
}

function restartCell(cell, row) {
  const text = row.member ? "" : row.restartLimit > 0 ? `${row.restarts} of ${row.restartLimit}` : "–";
  if (cell.textContent !== text) cell.textContent = text;
  cell.classList.toggle("zero", row.restarts === 0);
  cell.classList.toggle("alert", row.restarts > 0);
}

function compare(a, b) {
  const {field, descending} = view.sort;
  const x = a[field], y = b[field];
  const order = typeof x === "number" ? x - y : String(x).localeCompare(String(y), "en", {numeric: true});
  if (order !== 0 && !a.member) return descending ? -order : order;
  return a.member ? a.member.id - b.member.id : a.path.localeCompare(b.path, "en", {numeric: true});
}

function matches(row) {
  return [source().keyOf(row), row.type, row.phase, row.lastError].some((text) => text.toLowerCase().includes(view.search));
}

/** Children by the key of the nearest ancestor that has a row. */
function nest(rows) {
  const {keyOf, has} = source();
  const below = new Map();
  for (const row of rows) {
    let above = keyAbove(keyOf(row));
    while (above && !has(above)) above = keyAbove(above);
    if (!below.has(above)) below.set(above, []);
    below.get(above).push(row);
  }
  return below;
}

function isOpen(key, children, depth) {
  if (view.search) return true;
  return view.open.get(key) ?? (children.length <= kOpenAtFirst && (view.mode !== "set" || depth < kLevelsAtFirst));
}

function treeItems() {
  const {keyOf} = source();
  let rows = source().rows();
  if (view.search) {
    const wanted = new Set();
    for (const row of rows.filter(matches))
      for (let key = keyOf(row); key; key = keyAbove(key)) wanted.add(key);
    rows = rows.filter((row) => wanted.has(keyOf(row)));
  }
  const below = nest(rows);
  const items = [];
  const visit = (above, depth) => {
    const siblings = [...(below.get(above) ?? [])].sort(compare);
    siblings.slice(0, kMostChildren).forEach((row, index) => {
      const key = keyOf(row);
      const children = below.get(key) ?? [];
      const open = children.length > 0 && isOpen(key, children, depth);
      items.push({key, row, depth, children: children.length, open, position: index + 1, siblings: siblings.length});
      if (open) visit(key, depth + 1);
    });
    if (siblings.length > kMostChildren) items.push({more: siblings.length - kMostChildren, key: `${above}//more`, depth});
  };
  visit("", 0);
  return items;
}

function flatItems() {
  const rows = (view.search ? store.rows.filter(matches) : [...store.rows]).sort(compare);
  const items = rows.slice(0, kMostFlat).map((row) => ({key: row.path, row, depth: 0, children: 0, open: false}));
  if (rows.length > kMostFlat) items.push({more: rows.length - kMostFlat, key: "//more", depth: 0});
  return items;
}

function rowFor(item) {
  let tr = drawn.get(item.key);
  if (!tr) {
    tr = element("tr", {"data-path": item.key, tabindex: "-1", role: "row"});
    for (const column of kColumns)
      tr.append(element("td", {role: "gridcell", class: [column.number ? "number" : "", column.class ?? ""].join(" ").trim() || null}));
    drawn.set(item.key, tr);
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
  const tree = isTree();
  setOrRemove(tr, "aria-level", tree ? item.depth + 1 : null);
  setOrRemove(tr, "aria-posinset", tree ? item.position : null);
  setOrRemove(tr, "aria-setsize", tree ? item.siblings : null);
  setOrRemove(tr, "aria-expanded", tree && item.children > 0 ? item.open : null);
  setOrRemove(tr, "aria-selected", item.key === view.selected);
  tr.classList.toggle("member", Boolean(item.row.member));
  kColumns.forEach((column, index) => column.fill(tr.children[index], item.row, item));
}

export function draw() {
  shown = isTree() ? treeItems() : flatItems();
  const body = document.getElementById("rows");
  const present = new Set(shown.map((item) => item.key));
  for (const [key, tr] of drawn) {
    if (present.has(key)) continue;
    tr.remove();
    drawn.delete(key);
  }
  body.querySelectorAll(".more").forEach((tr) => tr.remove());
  let at = body.firstChild;
  for (const item of shown) {
    const tr = item.more ? moreRow(item) : rowFor(item);
    if (!item.more) fill(tr, item);
    if (tr === at) at = at.nextSibling;
    else body.insertBefore(tr, at);
  }
  if (!present.has(focused)) focused = present.has(view.selected) ? view.selected : shown[0]?.key ?? "";
  for (const [key, tr] of drawn) setOrRemove(tr, "tabindex", key === focused ? 0 : -1);
  const empty = document.getElementById("empty");
  empty.hidden = shown.length > 0;
  empty.textContent = view.search ? `No actor matches “${view.search}”.` : "No actors.";
  const found = shown.filter((item) => item.row && !item.row.member && (!view.search || matches(item.row))).length;
  const hidden = source().total() > source().here() ? `; the first ${count(source().here())} are here` : "";
  const text = view.search ? `${count(found)} of ${source().what()} match` : `${source().what()}${hidden}`;
  const footer = document.getElementById("count");
  if (footer.textContent !== text) footer.textContent = text;
}

export function flash(key) {
  const tr = drawn.get(key);
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
  table.setAttribute("role", isTree() ? "treegrid" : "grid");
  table.setAttribute("aria-label", mode === "set" ? "Actors of all members" : "Actors");
  draw();
}

/** Opens the branches above an actor, so that it can be seen. */
export function reveal(key) {
  for (let above = keyAbove(key); above; above = keyAbove(above)) view.open.set(above, true);
  draw();
  drawn.get(key)?.scrollIntoView({block: "nearest"});
}

export function focusRow(key = focused) {
  const tr = drawn.get(key);
  if (!tr) return;
  focused = key;
  for (const [other, row] of drawn) setOrRemove(row, "tabindex", other === key ? 0 : -1);
  tr.focus();
  tr.scrollIntoView({block: "nearest"});
}

function toggle(key, open) {
  view.open.set(key, open);
  draw();
}

function move(to) {
  const item = shown[to];
  if (!item || item.more) return;
  select(item.key);
  focusRow(item.key);
}

function keyPressed(event) {
  const tr = event.target.closest("tr[data-path]");
  if (!tr || event.ctrlKey || event.metaKey || event.altKey) return;
  const index = shown.findIndex((item) => item.key === tr.dataset.path);
  const item = shown[index];
  if (!item) return;
  const tree = isTree();
  const keys = {
    ArrowDown: () => move(index + 1),
    ArrowUp: () => move(index - 1),
    Home: () => move(0),
    End: () => move(shown.findLastIndex((one) => !one.more)),
    ArrowRight: () => tree && item.children > 0 && (item.open ? move(index + 1) : toggle(item.key, true)),
    ArrowLeft: () => {
      if (!tree) return;
      if (item.open && !view.search) toggle(item.key, false);
      else move(shown.findLastIndex((one, i) => i < index && one.depth < item.depth));
    },
    Enter: () => { select(item.key); enter(); },
    " ": () => select(item.key),
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
    const key = tr.dataset.path;
    if (event.target.closest(".twist")) return toggle(key, tr.getAttribute("aria-expanded") !== "true");
    select(key);
    focusRow(key);
  });
  body.addEventListener("dblclick", (event) => {
    const tr = event.target.closest("tr[aria-expanded]");
    if (tr && !event.target.closest(".twist")) toggle(tr.dataset.path, tr.getAttribute("aria-expanded") !== "true");
  });
  body.addEventListener("keydown", keyPressed);
}

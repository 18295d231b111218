// The sessions of the node, the one used last first: owner, last use, cursors, what runs, who waits. Read while they are
// shown; a session is ended after a question.
import {count, duration, element, marked} from "/format.js";
import {killSession, sessions, store} from "/store.js";

const kRefreshMs = 2000;

let page = null;               // null: not read yet
let search = "";
let timer = null;
let ask = null;                // (id) -> {reason}, or null: it stays
let say = null;                // (text, tone)

function textOf(row) {
  return [row.session, row.user, row.operation?.command, row.operation?.ns].join(" ").toLowerCase();
}

function operationCell(operation) {
  if (!operation) return element("td", {class: "faint"}, "–");
  return element("td", {title: `${operation.command} ${operation.ns}`}, element("span", {class: "command"}, ...marked(operation.command, search)),
      element("span", {class: "who"}, ...marked(operation.ns, search)), element("span", {class: "faint"}, ` op ${operation.opid}`));
}

async function end(row) {
  const wanted = await ask(row.session);
  if (!wanted) return;
  try {
    await killSession(row.session, wanted.reason);
    say(`Ended: session ${row.session}`);
  } catch (failure) {
    say(`The session was not ended: ${failure.message}`, "bad");
  }
  refresh();
}

function killCell(row) {
  const why = store.mayKill ? null : "your user may not end sessions: it needs a role such as hostManager";
  return element("td", {class: "number"}, element("button", {type: "button", class: "kill", disabled: Boolean(why), title: why, "aria-label": `End session ${row.session}`,
      onclick: () => end(row)}, "End"));
}

function line(row, now) {
  const idle = (now - Date.parse(row.lastUse)) / 1000;
  return element("tr", {"data-session": row.session, "data-state": row.operation ? "runs" : "idle"},
      element("td", {class: "id"}, ...marked(row.session, search)), element("td", {class: "who"}, ...marked(row.user || "nobody", search)),
      element("td", {class: "number"}, duration(idle)), element("td", {class: "number"}, count(row.openCursors)),
      operationCell(row.operation), element("td", {class: "number"}, count(row.waiters)), killCell(row));
}

function draw() {
  const byId = (id) => document.getElementById(id);
  const rows = page?.sessions ?? [];
  const found = rows.filter((row) => textOf(row).includes(search));
  const now = page ? Date.parse(page.at) : 0;
  byId("session-rows").replaceChildren(...found.map((row) => line(row, now)));
  byId("session-empty").hidden = found.length > 0;
  byId("session-empty").textContent = page?.refusal ? `No right: ${page.refusal}` : page === null ? "Reading the sessions …" : rows.length ? "No session matches the search." : "No session was used on this node lately.";
  const running = rows.filter((row) => row.operation).length;
  byId("session-count").textContent = page ? `${count(rows.length)} of ${count(page.total)} sessions, the last used first; ${count(running)} run something` : "";
}

async function refresh() {
  const body = await sessions().catch((failure) => failure.isRefused ? {refusal: failure.message, sessions: [], total: 0} : null);
  if (!body) return;           // the page says already that the connection is lost
  page = body;
  draw();
}

export function setSearch(text) {
  search = text;
  draw();
}

/** `confirm(id)` asks whether to end a session, and why; `toast(text, tone)` tells what became of it. */
export function begin({confirm, toast}) {
  ask = confirm;
  say = toast;
}

/** Reads the sessions again and again until they are hidden. */
export function show(shown) {
  clearInterval(timer);
  if (!shown) return;
  draw();
  refresh();
  timer = setInterval(() => document.hidden || refresh(), kRefreshMs);
}

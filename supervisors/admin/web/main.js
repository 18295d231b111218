// Brings the parts of the page together: selection, search, actions, keys, figures.
import * as actors from "/actors.js";
import {bytes, count, duration, element, nameOf, rate} from "/format.js";
import * as locks from "/locks.js";
import * as members from "/members.js";
import * as sessions from "/sessions.js";
import * as setView from "/set_view.js";
import * as side from "/side.js";
import {act, begin, on, store} from "/store.js";
import * as timeline from "/timeline.js";

const kToastMs = 4500;
const byId = (id) => document.getElementById(id);

// --- selection: kept in the address, so that a link leads to an actor

function showAddress() {
  const key = actors.view.selected;
  const place = inSet() ? `set${key && `/${key}`}` : inActors() ? key : mode();
  history.replaceState(null, "", place ? `#${place}` : location.pathname);
  const name = inActors() ? (key && nameOf(key)) || (inSet() ? "Set" : "") : kOtherViews[mode()].title;
  document.title = name ? `${name} · Troupe` : "Troupe";
}

/** `key`: see members.js; in all views but the one of the set, a path. */
function select(key) {
  if (actors.view.selected === key) return;
  actors.view.selected = key;
  showAddress();
  if (key) actors.reveal(key);
  else actors.draw();
  if (inSet()) setView.draw(key);
  side.show(key);
}

/** What is selected goes along from view to view, as far as it is there. */
function selectedIn(wanted) {
  const key = actors.view.selected;
  if (wanted === "set") return members.keyAmongMembers(key);
  return members.isOwn(key) ? members.pathOf(key) : "";
}

// --- actions

const kActions = {
  restart: {title: "Restart this actor?", go: "Restart", text: "It stops in order and starts again. What lies in its state document stays; pending asks fail and may be repeated."},
  park: {title: "Park this actor?", go: "Park", text: "It stops and is set aside until somebody resumes it. Until then, what it does is not done."},
  resume: {title: "Resume this actor?", go: "Resume", text: "It starts again, with its failures forgotten."},
  trace: {title: "Trace this actor?", go: "Trace", text: "Every message it handles is written to the log until tracing is stopped. That costs time and disk."},
  kill: {title: "End this session?", go: "End", text: "Its cursors are closed and what runs in it on this node is interrupted. Its client may begin it again with its next command."},
  untrace: {title: "Stop tracing this actor?", go: "Stop tracing", text: "Its messages are no longer written to the log."},
};

function toast(text, tone = "") {
  const line = element("div", {class: "toast", "data-tone": tone || null}, text);
  byId("toasts").append(line);
  setTimeout(() => line.remove(), kToastMs);
}

function titleOf(key) {
  const node = members.nodeOf(key);
  return node ? `${members.pathOf(key)} on ${node}` : key;
}

function confirmed(what, action) {
  const {title, go, text} = kActions[action];
  const dialog = byId("confirm");
  byId("confirm-title").textContent = title;
  byId("confirm-path").textContent = what;
  byId("confirm-text").textContent = text;
  byId("confirm-go").textContent = go;
  byId("confirm-reason").value = "";
  dialog.returnValue = "";
  dialog.showModal();
  byId("confirm-go").focus();
  return new Promise((resolve) => dialog.addEventListener("close", () => resolve(dialog.returnValue === "go"), {once: true}));
}

async function perform(key, action) {
  if (!(await confirmed(titleOf(key), action))) return;
  const reason = byId("confirm-reason").value.trim();
  const node = members.askedNode(key);
  const options = {...(reason && {reason}), ...(node && {node}), ...(action === "untrace" && {enabled: "0"})};
  try {
    await act(members.pathOf(key), action === "untrace" ? "trace" : action, options);
    if (action === "trace" || action === "untrace") side.setTraced(key, action === "trace");
    toast(`${kActions[action].go}: ${titleOf(key)}`);
    if (inSet()) members.refresh();
    side.update();
  } catch (failure) {
    toast(`${kActions[action].go} did not work: ${failure.message}`, "bad");
  }
}

function performByKey(names) {
  const row = members.rowOf(actors.view.selected);
  if (!row || row.member || !inActors()) return;
  const action = side.actionsFor(row).find((one) => names.includes(one.name));
  if (!action) return;
  if (action.off) toast(action.off, "bad");
  else perform(actors.view.selected, action.name);
}

// --- search and view

const kLocalModes = ["tree", "table"];

// Views other than the actors; each searches in what it shows.
const kOtherViews = {
  locks: {title: "Locks", placeholder: "Search resource, command, client", search: locks.setSearch},
  sessions: {title: "Sessions", placeholder: "Search session, user, operation", search: sessions.setSearch},
  timeline: {title: "Timeline", placeholder: "Search the events of this trace", search: timeline.setSearch},
};
const kModes = ["tree", "table", "set", "locks", "sessions", "timeline"];
const inActors = () => !kOtherViews[document.body.dataset.view];
const inSet = () => document.body.dataset.view === "set";
const inTimeline = () => document.body.dataset.view === "timeline";
const mode = () => (inActors() ? actors.view.mode : document.body.dataset.view);
const nextMode = (by = 1) => kModes[(kModes.indexOf(mode()) + by + kModes.length) % kModes.length];

function search(text) {
  const wanted = text.trim().toLowerCase();
  if (!inActors()) return kOtherViews[mode()].search(wanted);
  actors.view.search = wanted;
  actors.draw();
}

function setMode(wanted) {
  if (wanted === mode()) return;
  for (const name of kModes) {
    byId(`view-${name}`).setAttribute("aria-checked", String(name === wanted));
    byId(`view-${name}`).tabIndex = name === wanted ? 0 : -1;
  }
  if (!inActors() || kOtherViews[wanted]) {
    byId("search").value = "";
    search("");
  }
  const selected = kOtherViews[wanted] ? actors.view.selected : selectedIn(wanted);
  document.body.dataset.view = wanted;
  byId("search").placeholder = kOtherViews[wanted]?.placeholder ?? "Search path, type, phase, error";
  locks.show(wanted === "locks");
  sessions.show(wanted === "sessions");
  members.show(inSet());
  if (inActors()) actors.setMode(wanted);
  if (inActors()) select(selected);
  if (inSet()) setView.draw(selected);
  showAddress();
}

function escape() {
  if (byId("side").contains(document.activeElement)) return actors.focusRow();
  if (byId("search").value) {
    byId("search").value = "";
    return search("");
  }
  if (inActors()) select("");
}

function globalKey(event) {
  if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  if (event.key === "Escape") return escape();
  if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) {
    if (event.target.id === "search" && (event.key === "ArrowDown" || event.key === "Enter")) {
      event.preventDefault();
      if (inTimeline()) return timeline.nextMatch();
      if (!inActors()) return;
      const first = [...document.querySelectorAll("#rows tr[data-path]")].find((tr) => !actors.view.search || tr.querySelector("mark"));
      if (!first) return;
      select(first.dataset.path);
      actors.focusRow(first.dataset.path);
    }
    return;
  }
  const keys = {
    "/": () => { byId("search").focus(); byId("search").select(); },
    "?": () => byId("help").showModal(),
    t: () => setMode(nextMode()),
    r: () => performByKey(["restart"]),
    p: () => performByKey(["park", "resume"]),
  };
  if (!keys[event.key]) return;
  event.preventDefault();
  keys[event.key]();
}

// --- figures

const kDown = ["failed", "parked", "backing off"];

function tileList() {
  const down = store.rows.filter((row) => kDown.includes(row.phase)).length;
  const waiting = store.rows.reduce((sum, row) => sum + row.mailboxLength, 0);
  const status = store.status;
  const last = (name) => store.samples[name]?.at(-1);
  return [
    {label: "Actors", value: count(store.total), note: down ? `${down} down` : "all up", tone: down ? "bad" : "", line: "actors"},
    {label: "Messages", value: rate(last("messages")), note: waiting ? `/s, ${count(waiting)} waiting` : "/s", line: "messages"},
    {label: "Operations", value: rate(last("operations")), note: "/s", line: "operations"},
    {label: "Connections", value: count(status?.connections?.current), note: status ? "open" : "", line: "connections"},
    {label: "Journal flushes", value: rate(last("flushes")), note: "/s", line: "flushes"},
    {label: "Memory", value: bytes(last("memory")), note: "resident", line: "memory"},
    {label: "Up for", value: status ? duration(status.uptimeMillis / 1000) : "–", note: store.statusRefusal ? "no right to see the node's figures" : "", line: ""},
  ];
}

const kSvg = "http://www.w3.org/2000/svg";

function sparkline(values) {
  const svg = document.createElementNS(kSvg, "svg");
  svg.setAttribute("viewBox", "0 0 100 34");
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  const most = Math.max(...values), least = Math.min(...values);
  const span = most - least || Math.max(most, 1);
  const points = values.map((value, index) => `${(index * 100 / (values.length - 1)).toFixed(1)},${(31 - 27 * (value - least) / span).toFixed(1)}`);
  const area = document.createElementNS(kSvg, "polygon");
  area.setAttribute("points", `0,34 ${points.join(" ")} 100,34`);
  const line = document.createElementNS(kSvg, "polyline");
  line.setAttribute("points", points.join(" "));
  svg.append(area, line);
  return svg;
}

function drawTiles() {
  byId("tiles").replaceChildren(...tileList().map((tile) => {
    const values = store.samples[tile.line] ?? [];
    return element("div", {class: "tile", "data-tone": tile.tone || null},
        values.length > 2 ? sparkline(values) : null,
        element("div", {class: "label"}, tile.label),
        element("div", {class: "value"}, tile.value, tile.note ? element("small", {}, tile.note) : null));
  }));
}

// --- beginning

function fromAddress() {
  const path = decodeURIComponent(location.hash.slice(1));
  if (kOtherViews[path]) return setMode(path);
  if (path === "set" || path.startsWith("set/")) {
    setMode("set");
    return select(path.slice("set/".length));
  }
  if (!path.startsWith("/")) return;
  if (!inActors() || inSet()) setMode(kLocalModes.includes(actors.view.mode) ? actors.view.mode : "tree");
  select(path);
}

on("rows", () => {
  byId("node").textContent = store.node;
  if (inSet()) return;         // what is shown is read elsewhere
  actors.draw();
  side.update();
});
on("status", drawTiles);
on("live", () => {
  const live = byId("live");
  live.dataset.state = store.live;
  live.textContent = {live: "live", lost: "connection lost, trying again", connecting: "connecting"}[store.live];
});
on("events", (event) => (event.kind === "phase" ? side.phaseChanged(event) : actors.flash(inSet() ? members.keyAmongMembers(event.path) : event.path)));

actors.begin({select, enter: () => byId("side").focus()});
side.begin({select, act: perform});
setView.begin({select});
members.begin(() => {
  select(members.keyAmongMembers(actors.view.selected));  // it may have been selected before they were known
  actors.draw();
  setView.draw(actors.view.selected);
  side.update();
});
byId("search").addEventListener("input", (event) => search(event.target.value));
sessions.begin({toast, confirm: async (id) => (await confirmed(id, "kill")) ? {reason: byId("confirm-reason").value.trim()} : null});
timeline.begin({show: () => setMode("timeline")});
for (const name of kModes) byId(`view-${name}`).addEventListener("click", () => setMode(name));
document.querySelector(".segmented").addEventListener("keydown", (event) => {
  if (!["ArrowLeft", "ArrowRight"].includes(event.key)) return;
  setMode(nextMode(event.key === "ArrowRight" ? 1 : -1));
  byId(`view-${mode()}`).focus();
});
byId("help-button").addEventListener("click", () => byId("help").showModal());
document.addEventListener("keydown", globalKey);
window.addEventListener("hashchange", fromAddress);
drawTiles();
begin().then(fromAddress);

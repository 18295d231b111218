// The panel beside the actors: what is known of the selected one, or what has happened lately.
import {ago, clock, count, duration, element, json, nameOf, rate, toneOf, toneOfRow} from "/format.js";
import {makeDiagram} from "/machine.js";
import {details, moves, store} from "/store.js";

const kMostEvents = 100;
const kOwnEvents = 12;

let handlers = {};
let current = "";
let shownDetails = null;
let shownMoves = {path: "", list: []};
let askedFor = 0;
let diagram = null;          // of the shown actor, if it carries out a machine; kept from one drawing to the next
const closedSections = new Set(["specification"]);
export const traced = new Set();

function panel() {
  return document.getElementById("side");
}

function eventLine(event, withPath) {
  const what = event.kind === "phase" ? event.detail : event.kind;
  const line = element("li", {},
      element("span", {class: "what"}, element("span", {class: "event", "data-tone": toneOf(what)}, what), " ",
              withPath ? element("button", {type: "button", onclick: () => handlers.select(event.path)}, event.path) : null),
      clock(event.at));
  if (event.kind !== "phase" && event.kind !== "started" && event.kind !== "restarted" && event.detail) line.append(element("span", {class: "where"}, event.detail));
  return line;
}

function drawActivity() {
  const events = store.events.slice(0, kMostEvents);
  const list = events.length
      ? element("ol", {class: "log", id: "activity"}, ...events.map((event) => eventLine(event, true)))
      : element("p", {class: "faint"}, "Nothing has happened since this page was opened. Starts, failures, restarts and changes of phase appear here as they happen.");
  panel().replaceChildren(
      element("header", {}, element("h2", {}, "Activity"),
              element("p", {class: "meaning"}, "Select an actor to see its state, its messages and what can be done to it.")),
      element("div", {class: "activity"}, list));
}

function crumbs(path) {
  const parts = path.split("/").slice(1, -1);
  const out = element("nav", {class: "crumbs", "aria-label": "Place in the tree"}, "/");
  parts.forEach((part, index) => {
    const target = "/" + parts.slice(0, index + 1).join("/");
    out.append(element("button", {type: "button", onclick: () => handlers.select(target)}, part), "/");
  });
  return out;
}

export function actionsFor(row) {
  const supervised = row.restartLimit > 0;
  const aside = row.phase === "parked" || row.phase === "stopped";
  const why = !store.mayAct ? "your user may look but not act: it needs a role such as clusterManager"
      : !supervised ? "only an actor with a supervisor can be restarted or parked" : "";
  return [
    {name: "restart", title: "Restart", off: why || (aside ? "it is set aside: resume it" : "")},
    aside ? {name: "resume", title: "Resume", off: why} : {name: "park", title: "Park", off: why},
    traced.has(row.path) ? {name: "untrace", title: "Stop tracing", off: store.mayAct ? "" : why}
                         : {name: "trace", title: "Trace", off: !store.mayAct ? why : aside ? "it does not run" : ""},
  ];
}

function header(row) {
  const buttons = actionsFor(row).map((action) => element("button", {
    type: "button", "data-action": action.name, disabled: Boolean(action.off), title: action.off || null,
    onclick: () => handlers.act(row.path, action.name)}, action.title));
  return element("header", {},
      element("div", {class: "top"}, element("div", {}, crumbs(row.path), element("h2", {}, nameOf(row.path))),
              element("button", {type: "button", class: "close", "aria-label": "Close the details", title: "Close (Esc)", onclick: () => handlers.select("")}, "×")),
      element("p", {class: "meaning"}, element("span", {class: "phase", "data-tone": toneOfRow(row)}, row.phase), row.phaseMeaning,
              element("span", {class: "faint"}, "for ", ago(row.phaseSince, ""))),
      element("div", {class: "actions", role: "group", "aria-label": "Actions"}, ...buttons));
}

function fact(name, value, extra) {
  return element("div", {}, element("dt", {}, name), element("dd", {"data-fact": name}, value, extra ? element("small", {}, ` ${extra}`) : null));
}

function facts(row) {
  const list = [
    fact("Type", row.type || "–"),
    fact("Incarnation", count(row.incarnation)),
    fact("Alive for", ago(row.startedAt, "")),
    fact("Mailbox", count(row.mailboxLength), row.mailboxLength > 0 ? `oldest ${duration(row.mailboxOldestMs / 1000)}` : "waiting"),
    fact("Handled", count(row.handled), `${rate(row.handledPerSecond)}/s`),
    fact("Busy", `${(row.busyShare * 100).toFixed(1)}%`),
    fact("Restarts", row.restartLimit > 0 ? `${row.restarts} of ${row.restartLimit}` : "–", row.restartLimit > 0 ? "in the window" : "not supervised"),
    fact("Pending asks", count(row.pendingAsks)),
    fact("Last message", row.lastMessage || "–"),
  ];
  if (row.strategy) list.push(fact("Strategy", row.strategy));
  if (row.documentId) list.push(fact("Document", row.documentId, `revision ${row.documentRevision}`));
  return element("dl", {class: "facts"}, ...list);
}

function section(id, title, note, ...content) {
  const box = element("details", {open: !closedSections.has(id)},
      element("summary", {}, title, note ? element("span", {class: "faint"}, note) : null), element("div", {class: "body"}, ...content));
  box.addEventListener("toggle", () => (box.open ? closedSections.delete(id) : closedSections.add(id)));
  return element("section", {"data-section": id}, box);
}

function machineSection(row) {
  const machine = shownDetails?.row.path === row.path ? shownDetails.machine : null;
  if (!machine) return null;
  diagram ??= makeDiagram();
  diagram.box ??= section("machine", "Machine", machine.name, diagram.node);
  diagram.update(machine, row.phase);
  diagram.showSteps(store.steps.get(row.path) ?? []);
  return diagram.box;
}

function messageList(title, messages, direction) {
  const items = messages.map((message) => element("li", {}, element("span", {class: "what"}, message.message), ago(message.at),
      element("span", {class: "where"}, message.peer ? `${direction} ${message.peer}` : "from outside the tree")));
  return element("div", {}, element("h4", {}, title), items.length ? element("ol", {class: "log"}, ...items) : element("p", {}, "none yet"));
}

function sections(row) {
  const known = shownDetails?.row.path === row.path ? shownDetails : null;
  const own = store.events.filter((event) => event.path === row.path).slice(0, kOwnEvents);
  const out = [];
  if (known) {
    out.push(section("state", "State", "", Object.keys(known.state).length ? json(known.state) : element("p", {}, "This actor describes no state.")));
    out.push(section("messages", "Recent messages", "the last 16 in each direction",
                     element("div", {class: "messages"}, messageList("Received", known.received, "from"), messageList("Sent", known.sent, "to"))));
    if (known.childSpecification) out.push(section("specification", "Child specification", "how its supervisor keeps it", json(known.childSpecification)));
  }
  out.push(section("history", "History", "since this page was opened",
                   own.length ? element("ol", {class: "log"}, ...own.map((event) => eventLine(event, false))) : element("p", {}, "nothing has happened to it")));
  return out;
}

function moveLine(move) {
  const phases = move.from === move.to ? move.to : `${move.from ?? ""} → ${move.to ?? "end"}`;
  return element("li", {},
      element("span", {class: "what"}, move.event, " ", element("span", {class: "event", "data-tone": toneOf(move.to ?? "ended")}, phases.trim())),
      clock(move.at),
      element("span", {class: "where"}, [move.cause && `from ${move.cause}`, ...move.effects, move.outcome].filter(Boolean).join(", ")));
}

function movesSection(path) {
  if (shownMoves.path !== path || !shownMoves.list.length) return null;
  return section("moves", "Moves of its machine", "newest first, also from before this page was opened",
                 element("ol", {class: "log", id: "moves"}, ...shownMoves.list.map(moveLine)));
}

function focusable(side) {
  return [...side.querySelectorAll("button, summary, pre, .phase-box")];
}

/** Draws anew, leaving focus and scrolling where they were. */
export function draw() {
  const side = panel();
  const focusedAction = side.contains(document.activeElement) ? document.activeElement.dataset.action : undefined;
  const focusedIndex = focusable(side).indexOf(document.activeElement);
  const scrolls = [side.scrollTop, ...[...side.querySelectorAll("pre.json")].map((pre) => pre.scrollTop)];
  drawContent(side);
  if (focusedAction) side.querySelector(`[data-action="${focusedAction}"]`)?.focus({preventScroll: true});
  else if (focusedIndex >= 0 && !side.contains(document.activeElement)) focusable(side)[focusedIndex]?.focus({preventScroll: true});
  [side, ...side.querySelectorAll("pre.json")].forEach((box, index) => (box.scrollTop = scrolls[index] ?? 0));
}

function drawContent(side) {
  const row = store.byPath.get(current);
  if (!current) return drawActivity();
  if (!row) {
    const gone = element("header", {}, crumbs(current), element("h2", {}, nameOf(current)),
                         element("p", {class: "meaning"}, "This actor is not in the tree any more."));
    return place(side, [gone, movesSection(current)].filter(Boolean));
  }
  const error = row.lastError ? element("div", {class: "error", role: "note"}, element("strong", {}, "Last error"), row.lastError) : null;
  place(side, [header(row), error, machineSection(row), facts(row), movesSection(row.path), ...sections(row)].filter(Boolean));
}

/** Like replaceChildren, but what is there already stays untouched, with its focus and the pointer over it. */
function place(parent, nodes) {
  for (const child of [...parent.children]) if (!nodes.includes(child)) child.remove();
  nodes.forEach((node, index) => node !== parent.children[index] && parent.insertBefore(node, parent.children[index] ?? null));
}

/** A machine that is looked at is drawn in its new phase at once; all else waits for the next reading. */
export function phaseChanged(event) {
  const row = store.byPath.get(event.path);
  const machine = shownDetails?.row.path === event.path ? shownDetails.machine : null;
  if (event.path !== current || !row || !machine) return;
  const phase = machine.phases.find((one) => one.name === event.detail);
  Object.assign(row, {phase: event.detail, phaseMeaning: phase?.meaning ?? "", phaseSince: event.at});
  if (!inUse()) draw();
}

/** True while somebody selects text or presses a button in the panel: it is then left as it is. */
let pressed = false;
function inUse() {
  const selection = document.getSelection();
  return pressed || (selection && !selection.isCollapsed && panel().contains(selection.anchorNode));
}

/** Reads the selected actor again; rows that arrive draw it. */
export async function update() {
  if (!current) {
    if (!inUse()) draw();
    return;
  }
  const asked = ++askedFor;
  const path = current;
  const [found, list] = await Promise.all([store.byPath.has(path) ? details(path).catch(() => null) : null, moves(path).catch(() => null)]);
  if (asked !== askedFor || path !== current) return;
  if (found) shownDetails = found;
  if (list) shownMoves = {path, list};
  if (!inUse()) draw();
}

export function show(path) {
  current = path;
  diagram = null;
  panel().scrollTop = 0;
  draw();
  update();
}

export function begin(given) {
  handlers = given;
  panel().addEventListener("pointerdown", () => (pressed = true));
  for (const end of ["pointerup", "pointercancel"]) window.addEventListener(end, () => (pressed = false));
  draw();
}

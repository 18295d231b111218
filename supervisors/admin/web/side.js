// The panel beside the actors: what is known of the selected one, or what has happened lately.
import {ago, clock, count, duration, element, json, nameOf, rate, toneOf, toneOfRow} from "/format.js";
import {makeDiagram} from "/machine.js";
import {memberPanel} from "/member_panel.js";
import {askedNode, isOwn, members, nodeOf, pathOf, rowOf} from "/members.js";
import {details, moves, store} from "/store.js";

const kMostEvents = 100;
const kOwnEvents = 12;
const kRemoteSteps = 6;

let handlers = {};
let current = "";            // the key of what is selected (members.js)
let shownDetails = null;     // and the key of their actor
let shownMoves = {key: "", list: []};
let askedFor = 0;
let diagram = null;          // of the shown actor, if it carries out a machine; kept from one drawing to the next
const closedSections = new Set(["specification"]);
const traced = new Set();

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

function crumbs(key) {
  const node = nodeOf(key), parts = pathOf(key).split("/").slice(1, -1);
  const out = element("nav", {class: "crumbs", "aria-label": "Place in the tree"},
                      node ? element("button", {type: "button", class: "on-member", onclick: () => handlers.select(node)}, node) : null, "/");
  parts.forEach((part, index) => {
    const target = `${node}/${parts.slice(0, index + 1).join("/")}`;
    out.append(element("button", {type: "button", onclick: () => handlers.select(target)}, part), "/");
  });
  return out;
}

/** By the path alone an actor of this node is the same in each view. */
const tracedName = (key) => (isOwn(key) ? pathOf(key) : key);
export const isTraced = (key) => traced.has(tracedName(key));
export function setTraced(key, on) {
  if (on) traced.add(tracedName(key));
  else traced.delete(tracedName(key));
}

export function actionsFor(row) {
  const supervised = row.restartLimit > 0;
  const aside = row.phase === "parked" || row.phase === "stopped";
  const why = !store.mayAct ? "your user may look but not act: it needs a role such as clusterManager"
      : !supervised ? "only an actor with a supervisor can be restarted or parked" : "";
  return [
    {name: "restart", title: "Restart", off: why || (aside ? "it is set aside: resume it" : "")},
    aside ? {name: "resume", title: "Resume", off: why} : {name: "park", title: "Park", off: why},
    isTraced(row.key ?? row.path) ? {name: "untrace", title: "Stop tracing", off: store.mayAct ? "" : why}
                         : {name: "trace", title: "Trace", off: !store.mayAct ? why : aside ? "it does not run" : ""},
  ];
}

function header(row) {
  const buttons = actionsFor(row).map((action) => element("button", {
    type: "button", "data-action": action.name, disabled: Boolean(action.off), title: action.off || null,
    onclick: () => handlers.act(current, action.name)}, action.title));
  return element("header", {},
      element("div", {class: "top"}, element("div", {}, crumbs(current), element("h2", {}, nameOf(row.path))),
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
  if (nodeOf(current)) list.unshift(fact("Member", nodeOf(current), isOwn(current) ? "this node" : ""));
  if (row.documentId) list.push(fact("Document", row.documentId, `revision ${row.documentRevision}`));
  return element("dl", {class: "facts"}, ...list);
}

function section(id, title, note, ...content) {
  const box = element("details", {open: !closedSections.has(id)},
      element("summary", {}, title, note ? element("span", {class: "faint"}, note) : null), element("div", {class: "body"}, ...content));
  box.addEventListener("toggle", () => (box.open ? closedSections.delete(id) : closedSections.add(id)));
  return element("section", {"data-section": id}, box);
}

/** The phases it went through, oldest first: of an actor of another member, as its moves tell. */
function stepsOf(row) {
  if (isOwn(current)) return store.steps.get(row.path) ?? [];
  if (shownMoves.key !== current) return [];
  return shownMoves.list.filter((move) => move.to && move.to !== move.from).slice(0, kRemoteSteps).reverse().map((move) => ({phase: move.to, at: move.at}));
}

function machineSection(row) {
  const machine = shownDetails?.key === current ? shownDetails.machine : null;
  if (!machine) return null;
  diagram ??= makeDiagram();
  diagram.box ??= section("machine", "Machine", machine.name, diagram.node);
  diagram.update(machine, row.phase);
  diagram.showSteps(stepsOf(row));
  return diagram.box;
}

function messageList(title, messages, direction) {
  const items = messages.map((message) => element("li", {}, element("span", {class: "what"}, message.message), ago(message.at),
      element("span", {class: "where"}, message.peer ? `${direction} ${message.peer}` : "from outside the tree")));
  return element("div", {}, element("h4", {}, title), items.length ? element("ol", {class: "log"}, ...items) : element("p", {}, "none yet"));
}

function sections(row) {
  const known = shownDetails?.key === current ? shownDetails : null;
  const own = store.events.filter((event) => event.path === row.path).slice(0, kOwnEvents);
  const out = [];
  if (known) {
    out.push(section("state", "State", "", Object.keys(known.state).length ? json(known.state) : element("p", {}, "This actor describes no state.")));
    out.push(section("messages", "Recent messages", "the last 16 in each direction",
                     element("div", {class: "messages"}, messageList("Received", known.received, "from"), messageList("Sent", known.sent, "to"))));
    if (known.childSpecification) out.push(section("specification", "Child specification", "how its supervisor keeps it", json(known.childSpecification)));
  }
  if (!isOwn(current)) return out;  // events come from this node alone
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

function movesSection() {
  if (shownMoves.key !== current || !shownMoves.list.length) return null;
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
  const row = rowOf(current);
  if (!current) return drawActivity();
  if (row?.member) return place(side, memberPanel(row, handlers.select));
  if (!row) {
    const reason = rowOf(nodeOf(current))?.lastError;
    const text = nodeOf(current) && !members.set ? "Reading the set …" : reason ? `Its member is out of reach: ${reason}` : "This actor is not in the tree any more.";
    const gone = element("header", {}, crumbs(current), element("h2", {}, nameOf(current)), element("p", {class: "meaning"}, text));
    return place(side, [gone, movesSection()].filter(Boolean));
  }
  const error = row.lastError ? element("div", {class: "error", role: "note"}, element("strong", {}, "Last error"), row.lastError) : null;
  place(side, [header(row), error, machineSection(row), facts(row), movesSection(), ...sections(row)].filter(Boolean));
}

/** Like replaceChildren, but what is there already stays untouched, with its focus and the pointer over it. */
function place(parent, nodes) {
  for (const child of [...parent.children]) if (!nodes.includes(child)) child.remove();
  nodes.forEach((node, index) => node !== parent.children[index] && parent.insertBefore(node, parent.children[index] ?? null));
}

/** A machine that is looked at is drawn in its new phase at once; all else waits for the next reading. */
export function phaseChanged(event) {
  const row = rowOf(current);
  const machine = shownDetails?.key === current ? shownDetails.machine : null;
  if (!isOwn(current) || event.path !== pathOf(current) || !row || !machine) return;
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
  const key = current, path = pathOf(key), node = askedNode(key);
  if (path) {
    const [found, list] = await Promise.all([rowOf(key) ? details(path, node).catch(() => null) : null, moves(path, node).catch(() => null)]);
    if (asked !== askedFor || key !== current) return;
    if (found) shownDetails = {...found, key};
    if (list) shownMoves = {key, list};
  }
  if (!inUse()) draw();
}

export function show(key) {
  current = key;
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

// A trace of the simulator, read from the file that `troupe sim --trace FILE` writes, and what a timeline shows of it:
// lanes, bands, arrows and marks. What is wrong with a file is said with its place.

export const kFormat = "troupe-trace";
const kVersion = 1;
const kKinds = ["phase", "send", "deliver", "drop", "fault", "actor", "note"];
const kMessages = ["send", "deliver", "drop"];
const kLongestQuote = 40;

export class BadTrace extends Error {}

function quoted(value) {
  const text = JSON.stringify(value) ?? String(value);
  return text.length > kLongestQuote ? `${text.slice(0, kLongestQuote)}…` : text;
}

function isText(value) {
  return typeof value === "string";
}

function parse(text) {
  try {
    return JSON.parse(text);
  } catch (failure) {
    throw new BadTrace(text.trim() ? `it is not JSON: ${failure.message}` : "it is empty");
  }
}

function checkHead(file) {
  if (typeof file !== "object" || file === null || Array.isArray(file) || file.format !== kFormat) {
    const found = file?.format === undefined ? "it has no “format”" : `its “format” is ${quoted(file.format)}`;
    throw new BadTrace(`${found}: a trace says "${kFormat}" there. \`troupe sim --trace FILE\` writes one`);
  }
  if (file.version !== kVersion) throw new BadTrace(`it is of version ${quoted(file.version)}, and this page reads version ${kVersion}`);
  if (!Array.isArray(file.nodes) || !file.nodes.every(isText)) throw new BadTrace("“nodes” must be a list of names");
  if (!Array.isArray(file.events)) throw new BadTrace("“events” must be a list");
  if (file.events.length === 0) throw new BadTrace("there are no events in it");
}

function checkEvent(event, index, nodes) {
  const wrong = (what) => new BadTrace(`events[${index}]: ${what}`);
  if (typeof event !== "object" || event === null) throw wrong(`must be an object, not ${quoted(event)}`);
  if (!Number.isFinite(event.at) || event.at < 0) throw wrong(`“at” must be seconds since the start, not ${quoted(event.at)}`);
  if (!kKinds.includes(event.kind)) throw wrong(`unknown “kind” ${quoted(event.kind)}: one of ${kKinds.join(", ")}`);
  for (const field of ["node", "actor", "what", "detail"])
    if (!isText(event[field])) throw wrong(`“${field}” must be text, not ${quoted(event[field])}`);
  if (event.node !== "" && !nodes.has(event.node)) throw wrong(`node ${quoted(event.node)} is not among “nodes”`);
  if (!kMessages.includes(event.kind)) return;
  if (event.node === "" || !nodes.has(event.peer)) throw wrong(`“peer” must be the other node of the message, not ${quoted(event.peer)}`);
  if (!Number.isInteger(event.message)) throw wrong(`“message” must be the number of the message, not ${quoted(event.message)}`);
}

const kFields = ["node", "role", "term", "actor", "what"];

/** How wide the columns must be for these events. */
function widthsOf(events) {
  const widths = Object.fromEntries(kFields.map((field) => [field, field.length]));
  for (const event of events) for (const field of kFields) widths[field] = Math.max(widths[field], String(event[field] ?? "").length);
  return widths;
}

function columns(time, event, widths) {
  const cells = kFields.map((field) => (field === "term" ? event.term.padStart(widths.term) : event[field].padEnd(widths[field])));
  return [time.padStart(8), ...cells, event.detail].join("  ");
}

/** One line with fixed columns, as the simulator prints it. */
export function lineOf(event, widths) {
  return columns(event.at.toFixed(3), {...event, role: event.role ?? "", term: event.term > 0 ? String(event.term) : ""}, widths);
}

export function headingOf(widths) {
  return columns("time", {node: "node", role: "role", term: "term", actor: "actor", what: "what", detail: "detail"}, widths);
}

/** Actors with phases, the ones that change theirs most first; `quiet` ones never do. */
function rowsOf(events) {
  const phases = new Map();
  for (const event of events) {
    if (event.kind !== "phase") continue;
    if (!phases.has(event.actor)) phases.set(event.actor, new Set());
    phases.get(event.actor).add(event.what);
  }
  return [...phases].map(([actor, names]) => ({actor, phases: names.size, quiet: names.size < 2})).sort((a, b) => b.phases - a.phases);
}

/** Phases last until the actor's next one, its failure, or the end of its node. */
function bandsOf(events, lanes, rows, end) {
  const bands = [], open = new Map();
  const close = (key, at) => {
    if (!open.has(key)) return;
    open.get(key).end = at;
    open.delete(key);
  };
  events.forEach((event, index) => {
    const key = `${event.node} ${event.actor}`;
    if (event.kind === "phase") {
      close(key, event.at);
      const row = rows.findIndex((one) => one.actor === event.actor);
      const band = {lane: lanes.indexOf(event.node), row, start: event.at, end, phase: event.what, event: index};
      open.set(key, band);
      bands.push(band);
    } else if (event.kind === "actor" && event.what === "fails") {
      close(key, event.at);
    } else if (event.kind === "fault" && event.what === "kills") {
      for (const other of [...open.keys()]) if (other.startsWith(`${event.node} `)) close(other, event.at);
    }
  });
  return bands;
}

/** One for each arrival, each loss, and each message that is still under way at the end. */
function arrowsOf(events, lanes, end) {
  const arrows = [], sent = new Map();
  const add = (from, to, start, stop, fate, event) => arrows.push({from: lanes.indexOf(from), to: lanes.indexOf(to), start, end: stop, fate, event});
  events.forEach((event, index) => {
    if (event.kind === "send") {
      sent.set(event.message, {event, index, ended: false});
      return;
    }
    if (event.kind !== "deliver" && event.kind !== "drop") return;
    const start = sent.get(event.message);
    if (start) start.ended = true;
    if (event.kind === "deliver") add(event.peer, event.node, start?.event.at ?? event.at, event.at, "arrives", index);
    else add(event.node, event.peer, start?.event.at ?? event.at, event.at, "lost", index);
  });
  for (const {event, index, ended} of sent.values()) if (!ended) add(event.node, event.peer, event.at, end, "under way", index);
  arrows.sort((a, b) => a.start - b.start);
  return arrows;
}

const kAbsences = {kills: {begins: "down", ends: "paused"}, restarts: {ends: "down"}, pauses: {begins: "paused"}, resumes: {ends: "paused"}};

/** When nodes were down or paused: {lane, start, end, what}. */
function absencesOf(events, lanes, end) {
  const absences = [], open = new Map();
  for (const event of events) {
    const change = event.kind === "fault" && event.node !== "" ? kAbsences[event.what] : undefined;
    if (!change) continue;
    const over = open.get(event.node);
    if (over && over.what === change.ends) {
      over.end = event.at;
      open.delete(event.node);
    }
    if (!change.begins) continue;
    const absence = {lane: lanes.indexOf(event.node), start: event.at, end, what: change.begins};
    open.set(event.node, absence);
    absences.push(absence);
  }
  return absences;
}

/** Throws BadTrace, which says what is wrong and where. Times are seconds; lanes are the nodes, in order. */
export function readTrace(text) {
  const file = parse(text);
  checkHead(file);
  const nodes = new Set(file.nodes);
  file.events.forEach((event, index) => checkEvent(event, index, nodes));
  // A node that was paused goes on with its own time at first: its events may come later in the file than they happened.
  const events = file.events.sort((a, b) => a.at - b.at);
  const lanes = [...nodes].sort((a, b) => a.localeCompare(b, "en", {numeric: true}));
  const end = events.at(-1).at;
  const arrows = arrowsOf(events, lanes, end);
  const rows = rowsOf(events);
  const marks = events.flatMap((event, index) => {
    if (event.kind === "fault" || event.kind === "note" || event.kind === "actor")
      return [{lane: lanes.indexOf(event.node), at: event.at, kind: event.what === "BROKEN" ? "broken" : event.kind, event: index}];
    return [];
  });
  return {
    title: isText(file.title) ? file.title : "",
    events, lanes, arrows, marks, end,
    rows,
    bands: bandsOf(events, lanes, rows, end),
    absences: absencesOf(events, lanes, end),
    widths: widthsOf(events),
    longestFlight: arrows.reduce((most, arrow) => Math.max(most, arrow.end - arrow.start), 0),
  };
}

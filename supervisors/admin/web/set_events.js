// Elections, rollbacks and copies of all members, told from the moves of their machines. The moves from one resting phase
// to the next are one event: an election, a step-down, a rollback, an initial sync.

const kResting = {
  topology: ["startup", "follower", "arbiter", "removed", "primary"],
  rollback: ["following", "failed"],
  "initial-sync": ["idle", "failed"],
};
const kLeading = ["primary", "stepping down", "catching up", "draining"];

const memberOf = (cause) => (cause ?? "").replace(/\/.*/, "");

function topologyText({first, last, phases}) {
  const {from} = first, {to} = last;
  if (to === "primary") return "is elected primary";
  if (to === "candidate" || to === "dry run") return "stands for election";
  if (to === "catching up" || to === "draining") return "is elected, and catches up";
  if (to === "stepping down") return "is stepping down";
  if (to === "initiating") return "initiates the set";
  if (to === "removed") return "is not in the config";
  if (to === "arbiter") return "votes as an arbiter";
  if (to === "startup") return "starts without a config";
  if (from === "initiating" || phases.includes("initiating")) return "has initiated the set";
  if (from === "startup") return "joins the set";
  if (from === null) return "starts";
  if (from === "removed" || from === "arbiter") return "follows";
  if (kLeading.includes(from)) return "steps down";
  return phases.some((phase) => kLeading.includes(phase)) ? "was elected, and steps down" : "was not elected";
}

function rollbackText({last, phases}) {
  if (last.to === "failed") return "could not be rolled back";
  if (last.to !== "following") return `is rolled back: ${last.to}`;
  return phases.includes("ending") ? "was rolled back" : "was not rolled back";
}

function copyText({last, phases}) {
  if (last.to === "failed") return "could not copy the data";
  if (last.to === "ending" || last.to === "pausing") return "copies the data: an attempt failed";
  if (last.to !== "idle") return `copies the data: ${last.to}`;
  return phases.includes("leaving") ? "has copied all data" : "ended a copy of the data";
}

const kTexts = {topology: topologyText, rollback: rollbackText, "initial-sync": copyText};

function toneOf({machine, last}, text) {
  if (/could not|failed/.test(text)) return "bad";
  if (machine === "rollback") return "bad";
  if (last.to === "primary") return "good";
  return /stands|not elected|step/.test(text) ? "warn" : "calm";
}

/** A member whose log no source continues is told of by the machine that fetches; its other moves are many and small. */
function staleEvent(move) {
  return {node: move.node, path: move.path, machine: move.machine, at: move.at, began: move.at, text: "is too stale: no source has what it needs next", chain: `${move.from} → ${move.to}`, tone: "bad", ends: true};
}

function voteEvent(move) {
  return {node: move.node, path: move.path, machine: "topology", at: move.at, began: move.at, text: `votes for ${memberOf(move.cause)}`, chain: "", tone: "calm", ends: true};
}

/** A granted vote is the only move of a request for a vote that changes the document alone. */
const isVote = (move) => move.machine === "topology" && move.event === "VoteRequest" && move.from === move.to && move.revision > 0;
/** Machines that begin at rest, as they do whenever a node starts, are no news; that the node starts, its topology says. */
const isQuietStart = (move) => move.from === null && move.machine !== "topology" && kResting[move.machine].includes(move.to);

/** The events of one member, oldest first; `moves` are newest first. */
function eventsOfMember(moves) {
  const events = [], open = new Map();
  for (const move of [...moves].reverse()) {
    if (move.machine === "fetching" && move.to === "too stale" && move.from !== move.to) events.push(staleEvent(move));
    if (!kTexts[move.machine]) continue;
    if (move.from === null && open.has(move.machine)) open.get(move.machine).isCut = true;
    if (move.from === null) open.delete(move.machine);
    if (isQuietStart(move)) continue;
    if (isVote(move)) events.push(voteEvent(move));
    if (move.from === move.to) continue;
    let event = open.get(move.machine);
    if (!event) {
      event = {node: move.node, path: move.path, machine: move.machine, began: move.at, first: move, phases: move.from === null ? [] : [move.from]};
      events.push(event);
    }
    Object.assign(event, {at: move.at, last: move});
    if (move.to !== null) event.phases.push(move.to);
    event.ends = move.to === null || kResting[move.machine].includes(move.to);
    if (event.ends) open.delete(move.machine);
    else open.set(move.machine, event);
  }
  return events.map((event) => {
    if (event.text) return event;
    const text = kTexts[event.machine](event) + (event.isCut ? ", and was cut off" : "");
    return {...event, text, tone: toneOf(event, text), chain: event.phases.join(" → ")};
  });
}

/** {node, path, machine, at, began, text, chain, tone, ends, first?, last?}, newest first. `moves`: member -> its moves, newest first. */
export function eventsOf(moves, most) {
  const events = [...moves.values()].flatMap(eventsOfMember);
  // Of one time stays in the order it happened on a member: the sort is stable.
  return events.reverse().sort((a, b) => Date.parse(b.at) - Date.parse(a.at)).slice(0, most);
}

/** Which phase of its topology a member was in before an event and after it. */
export function rolesAlong(events, nodes, now) {
  const role = new Map(nodes.map((node) => [node, now(node)]));
  return events.map((event) => {
    const after = new Map(role);
    if (event.machine === "topology" && event.first) role.set(event.node, event.first.from ?? "down");
    return {after, before: new Map(role)};
  });
}

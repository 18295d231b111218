// What the page knows of the whole set: its members, the actors of all of them, and what their machines did lately. Read
// again and again while it is shown.
//
// The key of an actor is its path or, where members stand side by side, the name of its member and then its path:
// `/node/storage`, `host:port/node/storage`. The key of a member is its name.
import {getJson, store} from "/store.js";

const kRefreshMs = 2000;
const kRowLimit = 5000;
const kTransitionLimit = 1000;
const kTones = {PRIMARY: "good", SECONDARY: "good", ARBITER: "calm", REMOVED: "calm", STARTUP: "warn", STARTUP2: "warn", RECOVERING: "warn", ROLLBACK: "warn"};

export const members = {
  set: null,                   // as GET /set gives it; null: not read yet
  rows: [],                    // one for each member, and one for each actor of those in reach
  refusal: "",                 // why the user may not see the set
  total: 0,                    // actors there are
  here: 0,                     // of them, those among the rows
  byKey: new Map(),
  transitions: new Map(),      // member -> what its machines did, newest first; kept while it is out of reach
};

let actors = {rows: [], total: 0};  // as GET /actors?members=1 gives them
let timer = null;
let changed = () => {};

export const nodeOf = (key) => key.slice(0, key.startsWith("/") ? 0 : key.indexOf("/") < 0 ? key.length : key.indexOf("/"));
export const pathOf = (key) => key.slice(nodeOf(key).length);
/** Whether it is an actor of the node that serves this page. */
export const isOwn = (key) => pathOf(key) !== "" && ["", members.set?.self].includes(nodeOf(key));
/** The key of an actor of this node among those of all members; before they are known, its path. */
export const keyAmongMembers = (key) => (key.startsWith("/") && members.set?.members.length ? members.set.self + key : key);

export function rowOf(key) {
  return key.startsWith("/") ? store.byPath.get(key) : members.byKey.get(key);
}

/** The member that has to be asked for an actor; undefined: this node. */
export function askedNode(key) {
  return isOwn(key) ? undefined : nodeOf(key);
}

export function isReachable(member) {
  return member.health === 1 && member.state !== "DOWN";
}

/** A member as a row of the tree, above its actors. */
function memberRow(member, unreachable) {
  const reachable = isReachable(member);
  return {
    key: member.name, path: member.name, node: member.name, member,
    type: member.self ? "this node" : "member",
    phase: reachable ? member.state : "out of reach",
    phaseMeaning: reachable ? "" : "it does not answer this node",
    tone: reachable ? kTones[member.state] ?? "warn" : "bad",
    lastError: unreachable ?? (reachable ? "" : member.message ?? ""),
  };
}

function arrange() {
  const reasons = new Map(actors.rows.filter((row) => row.unreachable).map((row) => [row.node, row.unreachable]));
  const named = new Set(members.set.members.map((member) => member.name));
  const inReach = actors.rows.filter((row) => !row.unreachable && named.has(row.node));
  members.here = inReach.length;
  members.total = actors.total - (actors.rows.length - inReach.length);
  members.rows = [...members.set.members.map((member) => memberRow(member, reasons.get(member.name))),
                  ...inReach.map((row) => ({...row, key: row.node + row.path}))];
  members.byKey = new Map(members.rows.map((row) => [row.key, row]));
}

async function readSet() {
  members.set = await getJson("/set").catch((failure) => {
    members.refusal = failure.isRefused ? failure.message : "";
    if (failure.isRefused && timer) changed();
    throw failure;
  });
  members.refusal = "";
}

async function readActors() {
  actors = await getJson(`/actors?${new URLSearchParams({members: 1, limit: kRowLimit})}`);
}

async function readTransitions() {
  const query = new URLSearchParams({members: 1, under: "/node/replication", moves: 1, limit: kTransitionLimit});
  const {transitions} = await getJson(`/transitions?${query}`);
  const found = new Map();
  for (const one of transitions) if (!one.unreachable) found.set(one.node, [...(found.get(one.node) ?? []), one]);
  for (const [node, list] of found) members.transitions.set(node, list);
}

// A member that does not answer holds up what is asked of all members: the picture does not wait for it.
const underWay = new Set();
async function refreshPart(read) {
  if (underWay.has(read)) return;
  underWay.add(read);
  try {
    await read();
    if (!members.set) return;
    arrange();
    if (timer) changed();
  } catch {
    // The page says already that the connection is lost; what was read last stays.
  } finally {
    underWay.delete(read);
  }
}

export async function refresh() {
  const set = refreshPart(readSet);
  if (!members.set) await set;
  if (members.set?.members.length) await Promise.all([set, refreshPart(readActors), refreshPart(readTransitions)]);
}

/** `whenChanged` is called after each reading while the set is shown. */
export function begin(whenChanged) {
  changed = whenChanged;
}

/** Reads the set again and again until it is hidden. */
export function show(shown) {
  clearInterval(timer);
  timer = null;
  if (!shown) return;
  timer = setInterval(() => document.hidden || refresh(), kRefreshMs);
  return refresh();
}

// What the page knows of the node: the rows, the figures, the latest events. Everything else draws from here.

const kRowLimit = 5000;      // more rows than a person can look at; search narrows on what is here
const kRefreshMs = 2000;
const kSettleMs = 120;       // events come in bursts: one refresh for all of them
const kBriefMs = 2000;       // a phase that lasted for less is no news
const kKeptEvents = 300;
const kKeptSamples = 60;
const kKeptSteps = 12;
const kKnownMoves = 50;
const kEvents = ["started", "phase", "ended", "restarted", "failed", "removed"];

export const store = {
  node: "",
  user: "",
  mayAct: true,
  mayKill: true,
  live: "connecting",
  rows: [],
  total: 0,
  byPath: new Map(),
  status: null,
  statusRefusal: "",         // why the user may not see it
  events: [],
  steps: new Map(),          // path -> the latest phases it went through, oldest first: also those too brief to be news
  samples: {},               // name -> latest values, oldest first
};

const listeners = new Map();

/** on("rows" | "status" | "events" | "live", f) */
export function on(what, listener) {
  if (!listeners.has(what)) listeners.set(what, []);
  listeners.get(what).push(listener);
}

function tell(what, news) {
  for (const listener of listeners.get(what) ?? []) listener(news);
}

/** Throws with the server's reason; `isRefused`: the user has no right to see it. */
export async function getJson(address) {
  const response = await fetch(address, {headers: {Accept: "application/json"}});
  const body = await response.json();
  if (!response.ok) throw Object.assign(new Error(body.error?.message ?? `${address}: ${response.status}`), {isRefused: response.status === 403});
  return body;
}

export function actorAddress(path) {
  return "/actors" + path.split("/").map(encodeURIComponent).join("/");
}

/** `node`: the member whose actor it is; undefined: this node. The same holds below. */
export function details(path, node) {
  return getJson(actorAddress(path) + (node ? `?${new URLSearchParams({node})}` : ""));
}

/** What the machine of an actor did, newest first: also of one that has ended, and in earlier lives of the node. */
export async function moves(path, node) {
  const query = new URLSearchParams({under: path, moves: 1, limit: kKnownMoves, ...(node ? {members: 1} : {})});
  const body = await getJson(`/transitions?${query}`);
  return body.transitions.filter((one) => one.path === path && !one.unreachable && (!node || one.node === node));
}

/** Holders and waiters of every locked resource. */
export function locks() {
  return getJson("/locks");
}

/** The sessions used last, and how many there are. */
export function sessions() {
  return getJson("/sessions");
}

/** Ends the sessions of that id; throws with the server's reason. */
export async function killSession(id, reason) {
  const query = reason ? `?${new URLSearchParams({reason})}` : "";
  const response = await fetch(`/sessions/${encodeURIComponent(id)}/kill${query}`, {method: "POST", headers: {"X-Troupe-Action": "kill"}});
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? `status ${response.status}`);
}

/** Asks for an action; throws with the server's reason. */
export async function act(path, action, options = {}) {
  const query = new URLSearchParams(options).toString();
  const response = await fetch(`${actorAddress(path)}/${action}${query ? `?${query}` : ""}`,
                               {method: "POST", headers: {"X-Troupe-Action": action}});
  const body = await response.json();
  if (!response.ok) throw new Error(body.error?.message ?? `status ${response.status}`);
  settle();
  return body;
}

function sample(name, value) {
  const values = (store.samples[name] ??= []);
  values.push(value);
  if (values.length > kKeptSamples) values.shift();
}

/** The growth per second of a count, from one refresh to the next. */
const before = {};
function growth(name, value) {
  const now = performance.now() / 1000;
  const last = before[name];
  before[name] = {value, now};
  if (!last || now - last.now < 0.2) return null;
  return Math.max(0, (value - last.value) / (now - last.now));
}

function setLive(state) {
  if (store.live === state) return;
  store.live = state;
  tell("live");
}

export async function refreshRows() {
  const body = await getJson(`/actors?limit=${kRowLimit}`);
  store.node = body.node;
  store.rows = body.rows;
  store.total = body.total;
  store.byPath = new Map(body.rows.map((row) => [row.path, row]));
  tell("rows");
}

async function refreshStatus() {
  const status = await getJson("/status").catch((failure) => {
    store.statusRefusal = failure.isRefused ? failure.message : "";
    return null;
  });
  if (status) store.statusRefusal = "";
  store.status = status;
  const messages = growth("messages", store.rows.reduce((sum, row) => sum + row.handled, 0));
  if (messages !== null) sample("messages", messages);
  sample("actors", store.total);
  if (status) {
    const operations = growth("operations", Object.values(status.opcounters ?? {}).reduce((sum, n) => sum + n, 0));
    if (operations !== null) sample("operations", operations);
    const flushes = growth("flushes", status.journal?.flushes ?? 0);
    if (flushes !== null) sample("flushes", flushes);
    sample("connections", status.connections?.current ?? 0);
    sample("memory", (status.mem?.resident ?? 0) * 1024 * 1024);
  }
  tell("status");
}

let settling = null;
/** Reads the rows again soon; an earlier due time replaces the one that is scheduled. */
function settle(pause = kSettleMs) {
  const due = performance.now() + pause;
  if (settling && settling.due <= due) return;
  clearTimeout(settling?.timer);
  settling = {due, timer: setTimeout(async () => {
    settling = null;
    await refreshRows().catch(() => setLive("lost"));
  }, pause)};
}

/** Some actors change their phase many times a second: of those changes only the last is kept. */
function remember(event) {
  const at = event.kind === "phase" ? store.events.findIndex((other) => other.path === event.path) : -1;
  const last = store.events[at];
  if (last?.kind === "phase" && Date.parse(event.at) - Date.parse(last.at) < kBriefMs) store.events.splice(at, 1);
  store.events.unshift(event);
  store.events.length = Math.min(store.events.length, kKeptEvents);
}

function rememberStep({path, detail, at}) {
  const steps = store.steps.get(path) ?? [];
  steps.push({phase: detail, at});
  store.steps.set(path, steps.slice(-kKeptSteps));
}

let refreshing = false;
export async function refresh() {
  if (refreshing) return;
  refreshing = true;
  try {
    await refreshRows();
    await refreshStatus();
  } catch {
    setLive("lost");
  } finally {
    refreshing = false;
  }
}

function listen() {
  const source = new EventSource("/events");
  source.addEventListener("hello", () => {
    setLive("live");
    refresh();
  });
  source.onerror = () => setLive("lost");
  source.addEventListener("overflow", () => settle());
  for (const kind of kEvents) {
    source.addEventListener(kind, (message) => {
      const event = {kind, ...JSON.parse(message.data)};
      remember(event);
      if (kind === "phase") rememberStep(event);
      if (kind === "removed") store.steps.delete(event.path);
      tell("events", event);
      settle(kind === "phase" ? kBriefMs / 2 : kSettleMs);
    });
  }
  // A browser gives up on a stream that was refused: begin anew.
  const watch = setInterval(() => {
    if (source.readyState !== EventSource.CLOSED) return;
    clearInterval(watch);
    listen();
  }, kRefreshMs);
}

export async function begin() {
  const me = await getJson("/me").catch(() => null);
  if (me) Object.assign(store, {node: me.node, user: me.user, mayAct: me.mayAct, mayKill: me.mayKill});
  await refresh();
  listen();
  setInterval(() => {
    if (!document.hidden) refresh();
  }, kRefreshMs);
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) refresh();
  });
}

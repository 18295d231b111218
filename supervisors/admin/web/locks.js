// The locks of the node: the holders of each resource, then its queue in the order of the grants; resources with waiters
// first. Read while they are shown.
import {count, duration, element, marked} from "/format.js";
import {locks} from "/store.js";

const kRefreshMs = 1000;

let resources = null;          // null: not read yet
let refusal = "";              // why the user may not see them
let search = "";
let timer = null;

/** One line of the table: a holder, or the waiter at `place` (1 is granted next). */
function entriesOf(resource) {
  const [kind, ...name] = resource.resourceId.split(" ");
  const entry = (one, place) => ({kind, name: name.join(" "), place, ...one});
  return [...resource.granted.map((one) => entry(one, 0)), ...resource.pending.map((one, index) => entry(one, index + 1))];
}

function textOf(entry) {
  const client = entry.clientInfo ?? {};
  return [entry.kind, entry.name, entry.mode, client.command, client.ns, client.client, client.desc, client.opid].join(" ").toLowerCase();
}

function resourceCell(entry, isFirst) {
  if (!isFirst) return element("td");
  const name = entry.name ? element("span", {class: "name"}, ...marked(entry.name, search)) : null;
  return element("td", {class: "resource"}, element("span", {class: name ? "kind" : "name"}, ...marked(entry.kind, search)), name);
}

function stateCell(entry) {
  if (entry.place === 0) return element("td", {}, element("span", {class: "phase", "data-tone": "good"}, "holds"));
  const why = [entry.enqueueAtFront ? "enqueued at the front" : "", entry.compatibleFirst ? "may overtake waiters it does not conflict with" : ""];
  return element("td", {}, element("span", {class: "phase", "data-tone": "warn", title: why.filter(Boolean).join(", ") || null}, `waits #${entry.place}`));
}

function modeOf(entry) {
  return entry.convertMode === "NONE" ? entry.mode : `${entry.mode} → ${entry.convertMode}`;
}

function operationCell(client) {
  if (!client) return element("td", {class: "faint"}, "the node itself");
  return element("td", {title: `${client.command} ${client.ns}`}, element("span", {class: "command"}, ...marked(client.command, search)),
      element("span", {class: "who"}, ...marked(client.ns, search)), element("span", {class: "faint"}, ` op ${client.opid}`));
}

function clientCell(client) {
  if (!client) return element("td", {class: "narrow"});
  const name = marked(client.client, search);
  if (client.desc === client.client) return element("td", {class: "narrow who"}, ...name);  // of the node's own
  return element("td", {class: "narrow who"}, ...name, element("span", {class: "faint"}, ` ${client.desc}`));
}

function line(entry, isFirst) {
  return element("tr", {class: isFirst ? "first" : null, "data-resource": `${entry.kind} ${entry.name}`.trim(), "data-state": entry.place ? "waits" : "holds"},
      resourceCell(entry, isFirst), stateCell(entry), element("td", {class: "mode"}, modeOf(entry)),
      operationCell(entry.clientInfo), clientCell(entry.clientInfo), element("td", {class: "number"}, duration(entry.micros / 1e6)));
}

function draw() {
  const byId = (id) => document.getElementById(id);
  const found = (resources ?? []).map((one) => entriesOf(one).filter((entry) => textOf(entry).includes(search))).filter((entries) => entries.length);
  const isContended = (entries) => Number(entries.some((entry) => entry.place > 0));
  found.sort((a, b) => isContended(b) - isContended(a));  // stable: else from the top of the hierarchy down
  byId("lock-rows").replaceChildren(...found.flatMap((entries) => entries.map((entry, index) => line(entry, index === 0))));
  byId("lock-empty").hidden = found.length > 0;
  byId("lock-empty").textContent = refusal ? `No right: ${refusal}` : resources === null ? "Reading the locks …" : resources.length ? "No lock matches the search." : "No operation holds or waits for a lock just now.";
  const sum = (field) => (resources ?? []).reduce((all, one) => all + one[field].length, 0);
  byId("lock-count").textContent = `${count((resources ?? []).length)} resources, ${count(sum("granted"))} locks held, ${count(sum("pending"))} waited for`;
}

async function refresh() {
  const body = await locks().catch((failure) => failure.isRefused ? {refusal: failure.message, resources: []} : null);
  if (!body) return;           // the page says already that the connection is lost
  resources = body.resources;
  refusal = body.refusal ?? "";
  draw();
}

export function setSearch(text) {
  search = text;
  draw();
}

/** Reads the locks again and again until they are hidden. */
export function show(shown) {
  clearInterval(timer);
  if (!shown) return;
  draw();
  refresh();
  timer = setInterval(() => document.hidden || refresh(), kRefreshMs);
}

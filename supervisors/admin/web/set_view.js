// The view of the whole set above the tree of all members' actors: its figures, its picture, and what happened lately.
import {count, duration, element} from "/format.js";
import {logTime} from "/member_panel.js";
import {isReachable, members, nodeOf} from "/members.js";
import {eventsOf, rolesAlong} from "/set_events.js";
import {makePicture} from "/set_picture.js";

const kMostEvents = 100;
const kDay = 86_400_000;

const byId = (id) => document.getElementById(id);
let select = () => {};
let picture = null;
let drawnEvents = "";

function drawFacts() {
  const {set} = members;
  const votes = set.members.reduce((sum, member) => sum + member.votes, 0);
  const down = set.members.filter((member) => !isReachable(member)).length;
  const fact = (name, value, text) => element("span", {"data-fact": name, "data-value": String(value)}, element("b", {}, text), ` ${name}`);
  const labelled = (name, value, text) => element("span", {"data-fact": name, "data-value": String(value)}, `${name} `, element("b", {}, text));
  const {commitPoint} = set;
  byId("set-name").textContent = `Set ${set.set}`;
  byId("set-facts").replaceChildren(
      labelled("term", set.term, String(set.term)),
      labelled("commit point", `${commitPoint.seconds}:${commitPoint.increment}`, logTime(commitPoint)),
      fact("members", set.members.length, count(set.members.length)), fact("votes", votes, count(votes)),
      ...(down ? [element("span", {class: "alert", "data-fact": "out of reach", "data-value": String(down)}, `${count(down)} out of reach`)] : []));
}

/** The phase of a member's topology, as its state shows it. */
function roleNow(node) {
  const member = members.set.members.find((one) => one.name === node);
  if (!member || !isReachable(member)) return "down";
  return member.state === "PRIMARY" ? "primary" : "follower";
}

function lanes(event, nodes, {after, before}) {
  return element("td", {class: "lanes"}, element("div", {"aria-hidden": "true"}, ...nodes.map((node) => element("span", {
    class: "lane", "data-above": after.get(node), "data-below": before.get(node), "data-tone": node === event.node ? event.tone : null}))));
}

function timeOf(iso) {
  const at = new Date(iso);
  const text = Date.now() - at > kDay ? `${at.toLocaleDateString("en-CA")} ${at.toLocaleTimeString("en-GB")}` : `${at.toLocaleTimeString("en-GB")}.${iso.slice(20, 23)}`;
  return element("time", {datetime: iso, title: iso.replace("T", " ")}, text);
}

function eventRow(event, nodes, roles) {
  const took = (Date.parse(event.at) - Date.parse(event.began)) / 1000;
  const note = [event.chain, took >= 0.1 ? `in ${duration(took)}` : ""].filter(Boolean).join(", ");
  const key = `${event.node} ${event.machine} ${event.began}`;
  return element("tr", {"data-member": event.node, "data-machine": event.machine, "data-ends": String(event.ends)},
      element("td", {class: "when"}, timeOf(event.at)), lanes(event, nodes, roles), element("td", {class: "whose"}, event.node),
      element("td", {class: "what"}, element("button", {type: "button", "data-tone": event.tone, "data-key": key, onclick: () => select(event.node + event.path)}, event.text),
              note ? element("span", {class: "faint", title: note}, note) : null));
}

/** Drawn anew only when something happened: what has the focus keeps it, and the page its place. */
function drawEvents() {
  const nodes = [...members.set.members].sort((a, b) => a.id - b.id).map((member) => member.name);
  const known = new Map([...members.transitions].filter(([node]) => nodes.includes(node)));
  const events = eventsOf(known, kMostEvents);
  const roles = rolesAlong(events, nodes, roleNow);
  const wanted = JSON.stringify([nodes, nodes.map(roleNow), events.map((event) => [event.node, event.at, event.text, event.chain])]);
  if (wanted === drawnEvents) return;
  drawnEvents = wanted;
  const body = byId("set-events");
  const focused = body.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  const ids = new Map(members.set.members.map((member) => [member.name, member.id]));
  byId("set-lanes").replaceChildren(element("span", {class: "hidden"}, "Lanes"), element("div", {"aria-hidden": "true"},
      ...nodes.map((node) => element("span", {class: "lane-head", title: node}, String(ids.get(node))))));
  body.replaceChildren(...events.map((event, index) => eventRow(event, nodes, roles[index])));
  if (focused) [...body.querySelectorAll("button")].find((button) => button.dataset.key === focused)?.focus({preventScroll: true});
  byId("set-events-empty").hidden = events.length > 0;
}

/** What there is instead of a set. */
function emptyText() {
  const {set} = members;
  if (members.refusal) return `No right: ${members.refusal}`;
  if (!set) return "Reading the set …";
  return set.set ? `The set ${set.set} has no members yet: it waits for replSetInitiate, or for a member that has its config.` : "This node is no member of a set.";
}

export function draw(selectedKey) {
  const is = Boolean(members.set?.members.length);
  document.body.dataset.set = is ? "shown" : "none";
  byId("set-empty").textContent = is ? "" : emptyText();
  if (!is) return;
  drawFacts();
  picture.update(members.set.members, nodeOf(selectedKey));
  drawEvents();
}

/** `select` is called with the key of what is pressed. */
export function begin(handlers) {
  ({select} = handlers);
  picture = makePicture((key) => select(key));
  byId("set-drawing").append(picture.node);
}

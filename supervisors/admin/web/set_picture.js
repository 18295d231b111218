// The picture of the set: its members, and an arrow from each to the member that it pulls its log from. The primary stands
// at the left, right of it those that pull from it, then those that pull from them; where nobody leads, sources do.
import {duration} from "/format.js";
import {isReachable} from "/members.js";
import {pingText, traitsOf, windowText} from "/member_panel.js";

const kSvg = "http://www.w3.org/2000/svg";
const kCard = {width: 226, height: 84}, kGap = {x: 92, y: 14}, kMargin = 8;
const kLongestName = 22, kLongestTraits = 37;

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter(Boolean));
  return node;
}

const isPrimary = (member) => isReachable(member) && member.state === "PRIMARY";

/** Where each member stands, the same for the same set: {width, height, places: Map(name -> {member, column, x, y}), arrows}. */
export function layout(given) {
  const members = [...given].sort((a, b) => a.id - b.id);
  const byName = new Map(members.map((member) => [member.name, member]));
  const primary = members.find(isPrimary);
  const columns = new Map();
  const columnOf = (member, under = new Set()) => {
    if (columns.has(member.name)) return columns.get(member.name);
    const source = member.syncSource === member.name ? undefined : byName.get(member.syncSource);
    // For a moment two may name each other: the arrows then tell, the columns need not.
    const column = member === primary ? 0 : source && !under.has(source.name) ? columnOf(source, under.add(member.name)) + 1 : primary ? 1 : 0;
    columns.set(member.name, column);
    return column;
  };
  const byColumn = [];
  for (const member of members) (byColumn[columnOf(member)] ??= []).push(member);
  const stacks = byColumn.filter(Boolean);
  const rank = new Map();      // members of a column in the order of their sources: arrows do not cross
  const tall = Math.max(...stacks.map((stack) => stack.length));
  const height = tall * (kCard.height + kGap.y) - kGap.y;
  const places = new Map();
  stacks.forEach((stack, column) => {
    stack.sort((a, b) => (rank.get(a.syncSource) ?? members.length) - (rank.get(b.syncSource) ?? members.length) || a.id - b.id);
    const top = (height - stack.length * (kCard.height + kGap.y) + kGap.y) / 2;
    stack.forEach((member, index) => {
      rank.set(member.name, index);
      places.set(member.name, {member, column, x: kMargin + column * (kCard.width + kGap.x), y: kMargin + top + index * (kCard.height + kGap.y)});
    });
  });
  const arrows = [...places.values()].filter(({member}) => isReachable(member) && places.has(member.syncSource)).map((place) => ({from: place, to: places.get(place.member.syncSource)}));
  return {width: 2 * kMargin + stacks.length * (kCard.width + kGap.x) - kGap.x, height: height + 2 * kMargin, places, arrows};
}

/** From the edge of one card to the edge of the other that is nearer. */
function arrowPath({from, to}) {
  const middle = (place) => place.y + kCard.height / 2;
  if (from.column === to.column) {
    const x = from.x + kCard.width, out = x + kGap.x / 2;
    return `M${x} ${middle(from)}C${out} ${middle(from)} ${out} ${middle(to)} ${x + 2} ${middle(to)}`;
  }
  const leftwards = from.column > to.column;
  const start = leftwards ? from.x : from.x + kCard.width, end = leftwards ? to.x + kCard.width + 2 : to.x - 2;
  const bend = (start + end) / 2;
  return `M${start} ${middle(from)}C${bend} ${middle(from)} ${bend} ${middle(to)} ${end} ${middle(to)}`;
}

function shortened(text, most) {
  return text.length > most ? `${text.slice(0, most - 1)}…` : text;
}

function linesOf(member) {
  const alive = isReachable(member);
  const lag = alive && !isPrimary(member) && !member.arbiter ? ` · ${duration(member.lagSeconds)} behind` : "";
  return {
    name: shortened(member.name, kLongestName),
    state: alive ? member.state + lag : "out of reach",
    traits: shortened(traitsOf(member).join(" · "), kLongestTraits),
    figures: member.arbiter ? `ping ${pingText(member.pingMillis)}` : `log ${windowText(member.logWindowSeconds)}${member.self ? "" : ` · ping ${pingText(member.pingMillis)}`}`,
  };
}

/** The name of a card for screen readers: what is written on it, in its order, and what the drawing tells. */
function labelOf(member, lines) {
  return [Object.values(lines).join(" "), member.self ? "this node" : "", member.syncSource ? `pulls from ${member.syncSource}` : "pulls from nobody",
          isReachable(member) ? "" : member.message].filter(Boolean).join("; ");
}

/** {node, update(members, selectedKey)}: the cards are kept from one drawing to the next, with their focus. */
export function makePicture(select) {
  const head = svg("marker", {id: "head-pull", class: "head source", viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 10, markerHeight: 10, orient: "auto"},
                   svg("path", {d: "M0 .5 8 4 0 7.5z"}));
  const arrows = svg("g"), cardGroup = svg("g");
  const drawing = svg("svg", {class: "set-picture", role: "group", "aria-label": "Members of the set, and from whom they pull"}, svg("defs", {}, head), arrows, cardGroup);
  const cards = new Map();

  function cardOf(name) {
    if (cards.has(name)) return cards.get(name);
    const text = (kind, x, y) => svg("text", {class: kind, x, y});
    const card = svg("g", {class: "member-card", "data-member": name, role: "button", tabindex: "0"}, svg("title"),
        svg("rect", {class: "frame", width: kCard.width, height: kCard.height, rx: 10}), svg("circle", {class: "badge", cx: 20, cy: 20, r: 10}),
        svg("text", {class: "id", x: 20, y: 24, "text-anchor": "middle"}), " ", text("name", 37, 24.5), " ", text("state", 12, 44), " ", text("traits", 12, 60), " ", text("figures", 12, 75));
    card.addEventListener("click", () => select(name));
    card.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      select(name);
    });
    cards.set(name, card);
    return card;
  }

  function fill(card, {member, x, y}, selected) {
    card.setAttribute("transform", `translate(${x} ${y})`);
    const lines = {id: String(member.id), ...linesOf(member)};
    card.setAttribute("aria-label", labelOf(member, lines));
    card.setAttribute("aria-pressed", String(selected));
    Object.assign(card.dataset, {state: isReachable(member) ? member.state : "out of reach", self: String(member.self)});
    card.querySelector("title").textContent = [member.name, ...traitsOf(member), isReachable(member) ? "" : member.message].filter(Boolean).join("\n");
    for (const [kind, line] of Object.entries(lines)) {
      const text = card.querySelector(`.${kind}`);
      if (text.textContent !== line) text.textContent = line;
    }
  }

  return {
    node: drawing,
    update(members, selectedNode) {
      const plan = layout(members);
      drawing.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
      drawing.style.width = `${plan.width}px`;
      for (const [name, card] of cards) {
        if (plan.places.has(name)) continue;
        card.remove();
        cards.delete(name);
      }
      const focused = document.activeElement;
      [...plan.places].forEach(([name, place], index) => {
        const card = cardOf(name);
        fill(card, place, name === selectedNode);
        if (cardGroup.children[index] !== card) cardGroup.insertBefore(card, cardGroup.children[index] ?? null);  // the order of Tab
      });
      if (focused !== document.activeElement && drawing.contains(focused)) focused.focus({preventScroll: true});
      arrows.replaceChildren(...plan.arrows.map((arrow) =>
          svg("path", {class: "pull", d: arrowPath(arrow), "marker-end": "url(#head-pull)", "data-from": arrow.from.member.name, "data-to": arrow.to.member.name,
                       "data-broken": String(!isReachable(arrow.from.member) || !isReachable(arrow.to.member))})));
    },
  };
}

// Where everything of a machine's diagram lies. The phases stand below one another in the order in which they are usually
// gone through; arrows between neighbours go straight, all others along lanes beside them: down on the right, up on the
// left. Arrows to the same phase share a lane, which keeps a machine with fifty transitions readable.

export const kEnd = null;

/** The transitions as arrows, one for each pair of phases: {from, to, events}; `to` null is the end. */
export function arrowsOf(machine) {
  const arrows = new Map();
  const add = (from, to, event) => {
    if (from === to) return;
    const key = JSON.stringify([from, to]);
    if (!arrows.has(key)) arrows.set(key, {from, to, events: []});
    const {events} = arrows.get(key);
    if (!events.includes(event)) events.push(event);
  };
  for (const phase of machine.phases)
    for (const row of rowsFor(machine, phase.name)) for (const to of row.to) add(phase.name, to, row.event);
  return [...arrows.values()];
}

/** The transitions that count in a phase: its own, and those for any phase where it has none of its own. */
export function rowsFor(machine, phase) {
  const own = machine.transitions.filter((row) => row.from === phase);
  const general = machine.transitions.filter((row) => row.from === null && !own.some((other) => other.event === row.event));
  return [...own, ...general];
}

/** As many names as there is room for, and how many more there are. */
export function shortened(events, room) {
  const all = events.join(", ");
  if (all.length <= room) return all;
  for (let shown = events.length - 1; shown > 0; --shown) {
    const text = `${events.slice(0, shown).join(", ")} +${events.length - shown}`;
    if (text.length <= room) return text;
  }
  const more = events.length > 1 ? ` +${events.length - 1}` : "";
  return `${events[0].slice(0, Math.max(1, room - 1 - more.length))}…${more}`;
}

const kLane = 9, kFirstLane = 15, kMargin = 8;

/** Gives each lane its distance from the boxes: the shorter its way, the nearer. */
function placeLanes(lanes) {
  const taken = [];
  for (const lane of [...lanes].sort((a, b) => a.last - a.first - (b.last - b.first) || a.first - b.first)) {
    lane.index = 0;
    while ((taken[lane.index] ??= []).some((other) => lane.first < other.last && other.first < lane.last)) ++lane.index;
    taken[lane.index].push(lane);
  }
  return taken.length;
}

/** The lanes of one side: one for each phase that arrows of this direction lead to. */
function lanesOf(arrows, down) {
  const lanes = new Map();
  for (const arrow of arrows) {
    if (arrow.straight || arrow.down !== down) continue;
    if (!lanes.has(arrow.target)) lanes.set(arrow.target, {target: arrow.target, first: arrow.target, last: arrow.target});
    const lane = lanes.get(arrow.target);
    lane.first = Math.min(lane.first, arrow.source);
    lane.last = Math.max(lane.last, arrow.source);
    arrow.lane = lane;
  }
  return [...lanes.values()];
}

/** In which order arrows leave and enter the side of a box, from above, so that they cross as little as they can. */
function placeEnds(arrows, lanes, down, boxes) {
  boxes.forEach((box, index) => {
    const leaving = arrows.filter((arrow) => arrow.lane && arrow.down === down && arrow.source === index);
    leaving.sort((a, b) => (down ? b.lane.index - a.lane.index : a.lane.index - b.lane.index));
    const entered = lanes.find((lane) => lane.target === index);
    const ends = down ? [entered, ...leaving] : [...leaving, entered];
    const present = ends.filter(Boolean);
    present.forEach((end, place) => {
      const y = box.y + (box.height * (place + 1)) / (present.length + 1);
      if (end === entered) end.y = y;
      else end.leaveY = y;
    });
  });
}

function straightPath(arrow, boxes, middle, both) {
  const x = middle + (both ? (arrow.down ? 9 : -9) : 0);
  const from = boxes[arrow.source], to = boxes[arrow.target];
  arrow.label = {x: x + (arrow.down || !both ? 9 : -9), y: (arrow.down ? from.y + from.height + to.y : to.y + to.height + from.y) / 2 + 3.5, anchor: arrow.down || !both ? "start" : "end"};
  return arrow.down ? `M${x} ${from.y + from.height}V${to.y - 1}` : `M${x} ${from.y}V${to.y + to.height + 1}`;
}

function lanePath(arrow, boxes, left, right, gutter) {
  const side = arrow.down ? 1 : -1;
  const edge = arrow.down ? right : left;
  const target = boxes[arrow.target];
  const end = arrow.down ? target.x + target.width : target.x;
  const x = edge + side * (gutter + kFirstLane + arrow.lane.index * kLane);
  const corner = Math.min(6, Math.abs(arrow.lane.y - arrow.leaveY) / 2);
  const turn = arrow.down ? corner : -corner;
  arrow.label = {x: edge + side * 7, y: arrow.leaveY - 4, anchor: arrow.down ? "start" : "end"};
  return `M${edge} ${arrow.leaveY}H${x - side * corner}Q${x} ${arrow.leaveY} ${x} ${arrow.leaveY + turn}V${arrow.lane.y - turn}` +
      `Q${x} ${arrow.lane.y} ${x - side * corner} ${arrow.lane.y}H${end + side}`;
}

/** {width, height, boxes: [{name, meaning, x, y, width, height}], arrows: [{from, to, events, path, label}], sparse}. */
export function layout(machine, width) {
  const arrows = arrowsOf(machine);
  const names = machine.phases.map((phase) => phase.name);
  const boxes = machine.phases.map((phase) => ({...phase}));
  if (arrows.some((arrow) => arrow.to === kEnd)) boxes.push({name: kEnd, meaning: "the machine is done, and its document is gone"});
  // With few arrows there is room to write on each of them.
  const sparse = arrows.length <= 2 * boxes.length;
  const height = sparse ? 38 : 29, gap = sparse ? 32 : 13, gutter = sparse ? 74 : 0;
  boxes.forEach((box, index) => Object.assign(box, {y: kMargin + index * (height + gap), height: box.name === kEnd ? 20 : height}));
  for (const arrow of arrows) {
    arrow.source = names.indexOf(arrow.from);
    arrow.target = arrow.to === kEnd ? boxes.length - 1 : names.indexOf(arrow.to);
    arrow.down = arrow.target > arrow.source;
    arrow.straight = Math.abs(arrow.target - arrow.source) === 1;
  }
  const down = lanesOf(arrows, true), up = lanesOf(arrows, false);
  const room = (lanes) => (lanes.length ? gutter + kFirstLane + (placeLanes(lanes) - 1) * kLane + kMargin : kMargin);
  const left = room(up), right = Math.max(width, left + room(down) + 150) - room(down);
  for (const [lanes, isDown] of [[down, true], [up, false]]) placeEnds(arrows, lanes, isDown, boxes);
  for (const box of boxes) Object.assign(box, box.name === kEnd ? {x: (left + right) / 2 - 10, width: 20} : {x: left, width: right - left});
  for (const arrow of arrows) {
    const both = arrow.straight && arrows.some((other) => other.source === arrow.target && other.target === arrow.source);
    arrow.path = arrow.straight ? straightPath(arrow, boxes, (left + right) / 2, both) : lanePath(arrow, boxes, left, right, gutter);
  }
  const last = boxes.at(-1);
  return {width: right + room(down), height: last.y + last.height + kMargin, boxes, arrows, sparse, gutter};
}

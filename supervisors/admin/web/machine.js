// A machine as a diagram: its phases, its transitions, and the phase it is in, lit. What is beside the pointer or has the
// focus is explained; otherwise the lit phase is.
import {arrowsOf, kEnd, layout, rowsFor, shortened} from "/diagram_layout.js";
import {element} from "/format.js";

const kSvg = "http://www.w3.org/2000/svg";
const kLetter = 6.1;         // width of a small letter, about
const kNarrowest = 300;

function svg(tag, attributes = {}, ...children) {
  const node = document.createElementNS(kSvg, tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== null && value !== undefined) node.setAttribute(name, value);
  node.append(...children.filter(Boolean));
  return node;
}

function heads() {
  return svg("defs", {}, ...["plain", "out", "in"].map((kind) =>
      svg("marker", {id: `head-${kind}`, class: `head ${kind}`, viewBox: "0 0 8 8", refX: 7, refY: 4, markerUnits: "userSpaceOnUse", markerWidth: 8, markerHeight: 8, orient: "auto"},
          svg("path", {d: "M0 .5 8 4 0 7.5z"}))));
}

const nameOf = (phase) => (phase === kEnd ? "the end" : phase);

/** {node, update(machine, phase), light(phase)}: made once for an actor, so that focus and pointer stay where they are. */
export function makeDiagram() {
  const drawing = svg("svg", {class: "machine", role: "group"});
  const note = element("div", {class: "phase-note", id: "phase-note"});
  const steps = element("ol", {class: "steps", "aria-label": "Phases it went through since this page was opened"});
  const node = element("div", {class: "diagram"}, drawing, note, steps);
  let machine = null, lit = "", looked = undefined, plan = null, drawnFor = "";
  const boxes = new Map();

  const shown = () => (looked === undefined ? lit : looked);

  function phaseBox(box) {
    const ends = box.name === kEnd;
    const parts = ends
        ? [svg("circle", {class: "frame", cx: box.x + 10, cy: box.y + 10, r: 9}), svg("circle", {class: "dot", cx: box.x + 10, cy: box.y + 10, r: 5})]
        : [svg("rect", {class: "frame", x: box.x, y: box.y, width: box.width, height: box.height, rx: 8}),
           svg("circle", {class: "lamp", cx: box.x + 15, cy: box.y + box.height / 2, r: 4}),
           svg("text", {class: "phase-name", x: box.x + 27, y: box.y + box.height / 2 + 4.5}),
           svg("text", {class: "events", x: box.x + box.width - 11, y: box.y + box.height / 2 + 4, "text-anchor": "end"})];
    const group = svg("g", {class: ends ? "phase-box end" : "phase-box", "data-phase": nameOf(box.name), role: "img", tabindex: "-1"}, svg("title"), ...parts);
    if (!ends) group.querySelector(".phase-name").textContent = box.name;
    group.querySelector("title").textContent = box.meaning;
    group.addEventListener("pointerenter", () => look(box.name));
    group.addEventListener("pointerleave", () => group !== document.activeElement && look(undefined));
    group.addEventListener("focus", () => look(box.name));
    group.addEventListener("blur", () => look(undefined));
    boxes.set(box.name, group);
    return group;
  }

  function look(phase) {
    looked = phase;
    mark();
    explain();
  }

  /** Which arrows and boxes stand out. */
  function mark() {
    const from = shown();
    for (const arrow of plan.arrows) {
      const kind = arrow.from === from ? "out" : arrow.to === from ? "in" : "plain";
      if (arrow.node.dataset.kind === kind) continue;
      arrow.node.dataset.kind = kind;
      arrow.node.querySelector("path").setAttribute("marker-end", `url(#head-${kind})`);
      if (kind !== "plain") arrow.node.parentNode.append(arrow.node);  // above the others
    }
    for (const [name, group] of boxes) {
      const arrow = plan.arrows.find((one) => one.from === from && one.to === name);
      group.classList.toggle("lit", name === lit);
      group.classList.toggle("next", Boolean(arrow));
      if (name === lit) group.setAttribute("aria-current", "step");
      else group.removeAttribute("aria-current");
      group.setAttribute("tabindex", name === from ? "0" : "-1");
      group.setAttribute("aria-label", `${nameOf(name)}${name === lit ? ", the current phase" : ""}`);
      const events = group.querySelector(".events");
      if (!events || plan.sparse) continue;
      const room = Math.floor((plan.boxes[0].width - 48 - name.length * 7.4) / kLetter);
      events.textContent = arrow ? shortened(arrow.events, room) : "";
    }
  }

  function explain() {
    const phase = shown();
    const known = plan.boxes.find((box) => box.name === phase);
    if (!known) return note.replaceChildren(`${phase} is no phase of this machine: it begins, ends or is set aside.`);
    const out = arrowsOf(machine).filter((arrow) => arrow.from === phase);
    const moving = new Set(out.flatMap((arrow) => arrow.events));
    const staying = phase === kEnd ? [] : rowsFor(machine, phase).map((row) => row.event).filter((event) => !moving.has(event));
    const line = (target, events) => element("div", {}, element("dt", {}, target), element("dd", {}, events.join(", ")));
    note.replaceChildren(
        element("p", {}, element("strong", {}, nameOf(phase)), phase === lit ? " (now): " : ": ", known.meaning),
        element("dl", {}, ...out.map((arrow) => line(`→ ${nameOf(arrow.to)}`, arrow.events)), staying.length ? line("stays", staying) : null));
  }

  function draw() {
    const width = Math.max(kNarrowest, node.clientWidth || 460);
    const wanted = `${width} ${JSON.stringify(machine)}`;
    if (wanted === drawnFor) return;
    drawnFor = wanted;
    const focused = [...boxes].find(([, group]) => group === document.activeElement)?.[0];
    plan = layout(machine, width);
    boxes.clear();
    drawing.setAttribute("viewBox", `0 0 ${plan.width} ${plan.height}`);
    drawing.setAttribute("aria-label", `The machine ${machine.name}: ${machine.phases.length} phases`);
    drawing.classList.toggle("sparse", plan.sparse);
    const arrows = plan.arrows.map((arrow) => {
      arrow.node = svg("g", {class: "arrow", "data-from": nameOf(arrow.from), "data-to": nameOf(arrow.to)}, svg("title"), svg("path", {d: arrow.path}));
      arrow.node.querySelector("title").textContent = `${arrow.from} → ${nameOf(arrow.to)}: ${arrow.events.join(", ")}`;
      if (plan.sparse) {
        const room = arrow.straight ? Math.floor((plan.width / 2 - 30) / kLetter) : Math.floor((plan.gutter + 2) / kLetter);
        arrow.node.append(svg("text", {x: arrow.label.x, y: arrow.label.y, "text-anchor": arrow.label.anchor}));
        arrow.node.lastChild.textContent = shortened(arrow.events, room);
      }
      return arrow.node;
    });
    drawing.replaceChildren(heads(), svg("g", {}, ...arrows), svg("g", {}, ...plan.boxes.map(phaseBox)));
    mark();
    explain();
    if (focused !== undefined) boxes.get(focused)?.focus({preventScroll: true});
  }

  drawing.addEventListener("keydown", (event) => {
    if (!["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) return;
    event.preventDefault();
    event.stopPropagation();
    const names = plan.boxes.map((box) => box.name);
    const at = names.indexOf(shown());
    const to = {ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: names.length - 1}[event.key];
    boxes.get(names[Math.min(Math.max(to, 0), names.length - 1)])?.focus();
  });
  new ResizeObserver(() => machine && draw()).observe(node);

  return {
    node,
    update(given, phase) {
      machine = given;
      lit = phase;
      draw();
      mark();
      explain();
    },
    /** The steps it took, oldest first: [{phase, at}]. */
    showSteps(taken) {
      steps.replaceChildren(...taken.map(({phase, at}) =>
          element("li", {}, element("span", {}, phase), element("time", {datetime: at, title: at}, at.slice(11, 23)))));
    },
  };
}

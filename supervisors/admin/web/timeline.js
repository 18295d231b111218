// A trace of the simulator as a timeline: opens the file, and joins the drawing to the lines below it.
import {count, duration, element} from "/format.js";
import {TimelineView} from "/timeline_view.js";
import {headingOf, lineOf, readTrace} from "/trace_file.js";

const kLine = 20;            // pixels of a line of the log
const kMostBytes = 400e6;    // what a browser can hold as one text
const kZoom = 1.6;

const byId = (id) => document.getElementById(id);
let view = null, trace = null, shownLines = [], lines = new Map();
let search = "", drag = null;

const textOf = (index) => lineOf(trace.events[index], trace.widths);

// --- opening

function complain(name, why) {
  byId("trace-error").hidden = false;
  byId("trace-error").replaceChildren(element("strong", {}, `${name} cannot be shown`), why);
}

function summary() {
  const lost = trace.arrows.filter((arrow) => arrow.fate === "lost").length;
  const faults = trace.marks.filter((mark) => mark.kind === "fault").length;
  const facts = {nodes: trace.lanes.length, events: trace.events.length, messages: trace.arrows.length, lost, phases: trace.bands.length, faults};
  const parts = Object.entries(facts).map(([name, value]) => element("span", {"data-count": name, "data-value": String(value)}, element("b", {}, count(value)), ` ${name}`));
  byId("trace-facts").replaceChildren(...parts, element("span", {}, element("b", {}, duration(trace.end))));
}

async function open(file) {
  byId("trace-error").hidden = true;
  byId("timeline").dataset.state = "reading";
  try {
    if (file.size > kMostBytes) throw new Error(`it has ${count(file.size / 1e6)} MB, and a browser can hold ${kMostBytes / 1e6}: record a shorter run`);
    const read = readTrace(await file.text());
    trace = read;
    for (const line of lines.values()) line.remove();
    lines = new Map();
    byId("trace-title").textContent = trace.title || file.name;
    byId("timeline").classList.add("full");
    byId("trace-columns").textContent = headingOf(trace.widths);
    summary();
    filter();
    view.show(trace);
    choose(-1);
    byId("trace-canvas").focus({preventScroll: true});
  } catch (failure) {
    complain(file.name, failure.message);
  }
  byId("timeline").dataset.state = trace ? "shown" : "empty";
}

// --- the lines: as many as fit are in the page, all others only in the length of the scrolled area

function filter() {
  shownLines = [];
  trace.events.forEach((_, index) => {
    if (!search || textOf(index).toLowerCase().includes(search)) shownLines.push(index);
  });
  byId("trace-found").textContent = search ? `${count(shownLines.length)} of ${count(trace.events.length)} events match` : "";
  byId("trace-lines").style.height = `${shownLines.length * kLine}px`;
  drawLines();
}

function drawLines() {
  if (!trace) return;
  const log = byId("trace-log"), body = byId("trace-lines");
  const first = Math.max(0, Math.floor(log.scrollTop / kLine) - 5);
  const last = Math.min(shownLines.length, Math.ceil((log.scrollTop + log.clientHeight) / kLine) + 5);
  const wanted = new Map();
  for (let place = first; place < last; ++place) {
    const index = shownLines[place];
    const event = trace.events[index];
    const line = lines.get(index) ?? element("div", {class: "trace-line", "data-event": String(index), "data-kind": event.what === "BROKEN" ? "broken" : event.kind}, textOf(index));
    line.style.top = `${place * kLine}px`;
    line.classList.toggle("selected", index === view.selected);
    wanted.set(index, line);
  }
  for (const [index, line] of lines) if (wanted.get(index) !== line) line.remove();
  body.append(...[...wanted.values()].filter((line) => line.parentNode !== body));
  lines = wanted;
}

/** Shows the line of an event, unless a search has hidden it. */
function revealLine(index) {
  const place = shownLines.indexOf(index), log = byId("trace-log");
  if (place < 0) return;
  const top = place * kLine;
  if (top < log.scrollTop || top + kLine > log.scrollTop + log.clientHeight) log.scrollTop = top - log.clientHeight / 2;
}

function choose(index) {
  view.select(index);
  byId("trace-chosen").textContent = index >= 0 ? textOf(index).trim() : "Click an event, or go through them by ↑ and ↓.";
  byId("trace-chosen").dataset.event = String(index);
  if (index >= 0) revealLine(index);
  drawLines();
}

/** To the next event (by: 1) or the previous one (-1) of those that match. */
function step(by) {
  if (shownLines.length === 0) return;
  const at = shownLines.indexOf(view.selected);
  const middle = view.start + view.span / 2;
  const near = at >= 0 ? at + by : Math.max(0, shownLines.findIndex((index) => trace.events[index].at >= (view.start > 0 ? middle : 0)));
  choose(shownLines[Math.min(Math.max(near, 0), shownLines.length - 1)]);
}

// --- pointers and keys

function tip(event, index) {
  const box = byId("trace-tip");
  box.hidden = index < 0;
  if (index < 0) return;
  box.textContent = textOf(index).trim().replace(/ {2,}/g, "  ");
  const area = byId("trace-area").getBoundingClientRect();
  const left = Math.min(event.clientX - area.left + 14, area.width - box.offsetWidth - 8);
  box.style.left = `${Math.max(8, left)}px`;
  box.style.top = `${event.clientY - area.top + 16}px`;
}

function place(event) {
  const box = byId("trace-canvas").getBoundingClientRect();
  return {x: event.clientX - box.left, y: event.clientY - box.top};
}

function listenToPointer(canvas) {
  canvas.addEventListener("pointerdown", (event) => {
    if (!trace || event.button !== 0) return;
    drag = {x: event.clientX, moved: false};
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (!trace) return;
    const {x, y} = place(event);
    if (!drag) {
      const index = view.at(x, y);
      view.hover(index);
      return tip(event, index);
    }
    if (Math.abs(event.clientX - drag.x) < 3 && !drag.moved) return;
    drag.moved = true;
    view.pan(drag.x - event.clientX);
    drag.x = event.clientX;
    tip(event, -1);
  });
  canvas.addEventListener("pointerup", (event) => {
    if (drag && !drag.moved) {
      const {x, y} = place(event);
      choose(view.at(x, y));
    }
    drag = null;
  });
  canvas.addEventListener("pointercancel", () => (drag = null));
  canvas.addEventListener("pointerleave", () => {
    if (trace) view.hover(-1);
    byId("trace-tip").hidden = true;
  });
  canvas.addEventListener("dblclick", (event) => trace && view.zoom(1 / (kZoom * kZoom), place(event).x));
  canvas.addEventListener("wheel", (event) => {
    if (!trace) return;
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) view.pan(event.deltaX || event.deltaY);
    else view.zoom(Math.exp(Math.sign(event.deltaY) * Math.min(Math.abs(event.deltaY), 120) / 300), place(event).x);
  }, {passive: false});
}

const kKeys = {
  "+": () => view.zoom(1 / kZoom, selectedX()), "=": () => view.zoom(1 / kZoom, selectedX()),
  "-": () => view.zoom(kZoom, selectedX()),
  0: () => view.fit(),
  ArrowLeft: () => view.pan(-view.width / 8), ArrowRight: () => view.pan(view.width / 8),
  ArrowUp: () => step(-1), ArrowDown: () => step(1),
  Home: () => choose(shownLines[0] ?? -1), End: () => choose(shownLines.at(-1) ?? -1),
};

/** Keys zoom about the selected event, so that it stays in sight. */
function selectedX() {
  const x = view.selected >= 0 ? view.x(trace.events[view.selected].at) : undefined;
  return x !== undefined && x >= 0 && x <= byId("trace-canvas").clientWidth ? x : undefined;
}

function keyPressed(event) {
  if (!trace || !kKeys[event.key] || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  kKeys[event.key]();
}

function listenToFiles(show) {
  const input = byId("trace-file");
  input.addEventListener("change", () => {
    if (input.files[0]) open(input.files[0]);
    input.value = "";
  });
  for (const button of document.querySelectorAll("[data-open-trace]")) button.addEventListener("click", () => input.click());
  const carriesFile = (event) => event.dataTransfer?.types.includes("Files");
  document.addEventListener("dragover", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    show();
    byId("timeline").classList.add("dropping");
  });
  document.addEventListener("dragleave", (event) => event.relatedTarget === null && byId("timeline").classList.remove("dropping"));
  document.addEventListener("drop", (event) => {
    if (!carriesFile(event)) return;
    event.preventDefault();
    byId("timeline").classList.remove("dropping");
    open(event.dataTransfer.files[0]);
  });
}

/** Which events the lines show: those whose line holds the text. */
export function setSearch(text) {
  search = text;
  if (trace) filter();
}
export function nextMatch() {
  if (trace) step(1);
}

/** `show` brings the timeline to the front. */
export function begin({show}) {
  const canvas = byId("trace-canvas");
  view = new TimelineView(canvas, (drawn) => Object.entries(drawn).forEach(([name, value]) => (canvas.dataset[name] = String(value))));
  listenToPointer(canvas);
  listenToFiles(show);
  for (const box of [canvas, byId("trace-log")]) box.addEventListener("keydown", keyPressed);
  byId("trace-log").addEventListener("scroll", drawLines);
  byId("trace-lines").addEventListener("click", (event) => {
    const line = event.target.closest("[data-event]");
    if (line) choose(Number(line.dataset.event));
  });
  new ResizeObserver(drawLines).observe(byId("trace-log"));
  byId("trace-in").addEventListener("click", () => trace && kKeys["+"]());
  byId("trace-out").addEventListener("click", () => trace && kKeys["-"]());
  byId("trace-fit").addEventListener("click", () => trace && view.fit());
}

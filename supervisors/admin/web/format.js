// How things look as text, and small helpers to build the page.

/** element("p", {class: "x"}, child, ...): text is set as text, never as markup. */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

const kTones = {
  warn: ["starting", "stopping", "backing off", "restarted", "draining"],
  bad: ["failed"],
  aside: ["parked"],
  calm: ["stopped", "ended", "removed"],
};

/** Which colour a phase or an event has; phases of services that are alive are good. */
export function toneOf(phase) {
  for (const [tone, names] of Object.entries(kTones)) if (names.includes(phase)) return tone;
  return "good";
}

/** A row may bring its own. Before its first life an actor waits for its turn to start; later, waiting is what a healthy one may well do. */
export function toneOfRow(row) {
  if (row.tone) return row.tone;
  return row.incarnation === 0 && row.phase === "waiting" ? "warn" : toneOf(row.phase);
}

const grouped = new Intl.NumberFormat("en");

export function count(value) {
  if (value === null || value === undefined || Number.isNaN(value)) return "–";
  if (Math.abs(value) >= 1e6) return `${(value / 1e6).toFixed(value >= 1e7 ? 1 : 2)} M`;
  return grouped.format(Math.round(value));
}

export function rate(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "0";
  return value < 10 ? value.toFixed(1) : count(value);
}

export function bytes(value) {
  if (!Number.isFinite(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (value >= 1024 && unit < units.length - 1) {
    value /= 1024;
    ++unit;
  }
  return `${value >= 100 || unit === 0 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

export function duration(seconds) {
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 0) seconds = 0;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.floor(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

/** A <time> that says how long ago it was and, on hovering, when. */
export function ago(iso, suffix = " ago") {
  const seconds = (Date.now() - Date.parse(iso)) / 1000;
  return element("time", {datetime: iso, title: iso.replace("T", " ")}, duration(seconds) + suffix);
}

export function clock(iso) {
  return element("time", {datetime: iso, title: iso.replace("T", " ")}, new Date(iso).toLocaleTimeString("en-GB"));
}

export function nameOf(path) {
  return path.slice(path.lastIndexOf("/") + 1) || path;
}

/** Text with the part that a search found marked. */
export function marked(text, found) {
  const at = found ? text.toLowerCase().indexOf(found) : -1;
  if (at < 0) return [text];
  return [text.slice(0, at), element("mark", {}, text.slice(at, at + found.length)), text.slice(at + found.length)];
}

function jsonPart(value, indent) {
  const pad = "  ".repeat(indent);
  if (value === null || typeof value === "boolean") return [element("span", {class: "b"}, String(value))];
  if (typeof value === "number") return [element("span", {class: "n"}, String(value))];
  if (typeof value === "string") return [element("span", {class: "s"}, JSON.stringify(value))];
  const list = Array.isArray(value);
  const entries = Object.entries(value);
  if (entries.length === 0) return [list ? "[]" : "{}"];
  const out = [list ? "[\n" : "{\n"];
  entries.forEach(([key, item], index) => {
    out.push(`${pad}  `);
    if (!list) out.push(element("span", {class: "k"}, key), ": ");
    out.push(...jsonPart(item, indent + 1), index + 1 < entries.length ? ",\n" : "\n");
  });
  out.push(pad + (list ? "]" : "}"));
  return out;
}

/** A document, laid out and coloured. */
export function json(value) {
  return element("pre", {class: "json", tabindex: "0"}, ...jsonPart(value, 0));
}

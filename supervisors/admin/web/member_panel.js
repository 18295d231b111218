// The details of a member of the set, as the node that serves this page sees it.
import {count, duration, element, toneOfRow} from "/format.js";

function fact(name, value, extra) {
  return element("div", {}, element("dt", {}, name), element("dd", {"data-fact": name}, value, extra ? element("small", {}, ` ${extra}`) : null));
}

/** `seconds` of a time in the log, and its number among those of the same second. */
export function logTime({seconds, increment}) {
  return seconds ? `${new Date(seconds * 1000).toLocaleTimeString("en-GB")} #${increment}` : "–";
}

/** What sets a member apart from others, in words. */
export function traitsOf(member) {
  return [
    member.votes === 1 ? "1 vote" : member.votes ? `${count(member.votes)} votes` : "no vote",
    member.arbiter ? "arbiter" : `priority ${member.priority}`,
    member.hidden ? "hidden" : "",
    member.delaySeconds ? `delayed by ${duration(member.delaySeconds)}` : "",
  ].filter(Boolean);
}

export const pingText = (millis) => (millis === null ? "–" : `${millis < 10 ? millis.toFixed(1) : Math.round(millis)} ms`);
export const windowText = (seconds) => (seconds === null ? "–" : duration(seconds));

/** The content of the panel beside the tree; `select` is called with the key of what is pressed. */
export function memberPanel(row, select) {
  const member = row.member;
  const source = member.syncSource ? element("button", {type: "button", class: "to-member", onclick: () => select(member.syncSource)}, member.syncSource) : "nobody";
  const header = element("header", {},
      element("div", {class: "top"}, element("div", {}, element("div", {class: "crumbs"}, "member of the set"), element("h2", {}, member.name)),
              element("button", {type: "button", class: "close", "aria-label": "Close the details", title: "Close (Esc)", onclick: () => select("")}, "×")),
      element("p", {class: "meaning"}, element("span", {class: "phase", "data-tone": toneOfRow(row)}, row.phase), row.phaseMeaning || null,
              member.self ? element("span", {class: "faint"}, "it serves this page") : null));
  const error = row.lastError ? element("div", {class: "error", role: "note"}, element("strong", {}, "Its actors cannot be read"), row.lastError) : null;
  const facts = element("dl", {class: "facts"},
      fact("Member id", String(member.id)), fact("By the config", traitsOf(member).join(", ")), fact("Pulls from", source),
      fact("Applied up to", logTime(member.applied)), fact("Lag", duration(member.lagSeconds)), fact("Log reaches back", windowText(member.logWindowSeconds)),
      fact("Ping", pingText(member.pingMillis)), fact("Last word", member.message || "–"));
  return [header, error, facts].filter(Boolean);
}
